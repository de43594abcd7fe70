# In the place of python:3.11-slim: Debian's Python, which may install packages for all users
FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates python3 python3-pip \
    && rm -rf /var/lib/apt/lists/* /usr/lib/python3.11/EXTERNALLY-MANAGED && ln -s python3 /usr/bin/python
COPY ca-certificates.crt /etc/ssl/certs/
