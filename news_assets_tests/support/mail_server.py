"""A minimal SMTP server on loopback, which keeps the mails that it accepts."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default


@contextmanager
def mail_server(**answers: str) -> Iterator[tuple[int, list[EmailMessage]]]:
    """Run a minimal SMTP server on loopback; `answers` replace those to commands."""
    received: list[EmailMessage] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.reply("220 ready")
            for line in self.rfile:
                command = line[:4].decode().upper().strip()
                if command == "DATA":
                    self.reply("354 go on")
                    body = b""
                    while (part := self.rfile.readline()) != b".\r\n":
                        body += part
                    received.append(message_from_bytes(body, policy=default))
                self.reply(answers.get(command, "250 ok"))
                if command == "QUIT":
                    return

        def reply(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1], received
        finally:
            server.shutdown()
            thread.join()
