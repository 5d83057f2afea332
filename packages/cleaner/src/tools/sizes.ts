/** Index rows per statement that writes or deletes them. */
export const ROWS_PER_WRITE = 500

/** Entity ids per look-up of index rows. Bounds the rows in memory. */
export const IDS_PER_LOOKUP = 512

/** Index rows compared at once, about; a single entity may have more. Bounds the time for which the event loop is blocked. */
export const ROWS_IN_HAND = 5_000
