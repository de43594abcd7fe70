"""Channels of messages: webhooks, e-mail, Telegram, and Slack. Implements
`pipeline.alerts.sending.Send`.

notifier   the channel of a message by its name
http       POST of JSON to permitted addresses
signature  the headers of a webhook by which its receiver knows the sender
mail       SMTP
"""
