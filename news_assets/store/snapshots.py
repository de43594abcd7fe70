"""How many snapshots a SQLite catalog keeps.

Every commit adds one, and each transaction reads some tables of the catalog as a whole:
with 20,000 snapshots it takes 14 ms, with 2,000 3 ms. Age alone bounds nothing on a
busy day. A Postgres catalog has indexes for them.
"""

from news_assets.records.reading import WITHDRAWN
from news_assets.store.address import LAKE
from news_assets.store.transaction import Transaction

MOST = 1_000  # that are kept, besides those of withdrawn articles
STEP = 100  # deleted in one transaction

# `withdraw --undo` reads the texts from the commit before the withdrawal.
_NEEDED = f"""
SELECT withdrawn_after FROM raw_articles
WHERE outcome = '{WITHDRAWN}' AND withdrawn_after IS NOT NULL
"""


def delete_oldest(transaction: Transaction, most: int = MOST, step: int = STEP) -> int:
    """Delete the oldest snapshots beyond the newest `most`, at most `step` of them;
    return how many.
    """
    old = transaction.query(
        f"""
        SELECT snapshot_id FROM (
            FROM ducklake_snapshots('{LAKE}') ORDER BY snapshot_id DESC OFFSET {most:d}
        )
        WHERE snapshot_id NOT IN ({_NEEDED}) ORDER BY snapshot_id LIMIT {step:d}
        """
    )["snapshot_id"].to_list()
    if old:
        transaction.cursor.execute(
            f"CALL ducklake_expire_snapshots('{LAKE}', versions => {old})"
        ).fetchall()
    return len(old)
