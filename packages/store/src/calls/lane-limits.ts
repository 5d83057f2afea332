/** Entities read by one statement. With 256, 64 callers of pages of 20 sent a quarter more statements. */
export const MAX_READ_ROWS = 512
/** Bytes of bodies per answer; one longer body comes alone. Each shard may hold a few such answers in memory. */
export const MAX_READ_BYTES: number = 4 * 1024 * 1024
/** Estimated bytes of an index row, without its included properties. */
export const ROW_BYTES = 200
/**
 * Rows with which a look-up by id or a statement of scans goes out without waiting for more calls. The process then decodes some answers
 * while the shard reads the others: see decision 48. Writes share a flush, and long bodies are few, so these always wait.
 */
export const ENOUGH_ROWS = 64
