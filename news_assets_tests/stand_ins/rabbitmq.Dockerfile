# In the place of rabbitmq:3.13: Debian's broker, which reads the same variables and configuration
FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends rabbitmq-server && rm -rf /var/lib/apt/lists/*
ENV HOME=/var/lib/rabbitmq PATH=/usr/lib/rabbitmq/bin:$PATH RABBITMQ_CONFIG_FILES=/etc/rabbitmq/conf.d
CMD ["rabbitmq-server"]
