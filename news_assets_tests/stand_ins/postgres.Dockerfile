# In the place of postgres:17: Debian's server, with the variables and the data folder of the official image
FROM debian:bookworm-slim
RUN mkdir /etc/postgresql-common && echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf \
    && apt-get update && apt-get install --yes --no-install-recommends postgresql-15 && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner postgres --group postgres /var/lib/postgresql/data /var/run/postgresql
ENV PATH=/usr/lib/postgresql/15/bin:$PATH PGDATA=/var/lib/postgresql/data
COPY postgres-start /usr/local/bin/
CMD ["postgres-start"]
