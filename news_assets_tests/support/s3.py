"""An S3 server (moto's) with one empty bucket in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import httpx
from moto.server import ThreadedMotoServer

BUCKET = "bucket"
_LOGIN = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
}


@contextmanager
def s3_bucket(address: str = "127.0.0.1") -> Iterator[tuple[dict[str, str], Any]]:
    """Run the server on loopback, or with 0.0.0.0 at all addresses of this machine;
    yield the environment variables that lead to it by loopback, and the bucket
    (boto3's).
    """
    server = ThreadedMotoServer(address, port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        # Servers of one process share what they store.
        httpx.post(f"http://127.0.0.1:{port}/moto-api/reset").raise_for_status()
        bucket = boto3.resource(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id=_LOGIN["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=_LOGIN["AWS_SECRET_ACCESS_KEY"],
            region_name=_LOGIN["AWS_REGION"],
        ).Bucket(BUCKET)
        bucket.create()
        # The bucket is part of the host name: bucket.localhost is loopback too.
        yield (
            {
                **_LOGIN,
                "DUCKDB_S3_ENDPOINT": f"localhost:{port}",
                "DUCKDB_S3_USE_SSL": "false",
            },
            bucket,
        )
    finally:
        server.stop()
