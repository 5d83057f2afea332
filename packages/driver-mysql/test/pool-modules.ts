/* The modules between a statement and a client, in one module, so that a test can copy them together. */

export { createConnection } from '../src/connection/connection.ts'
export { mysqlDialect } from '../src/kysely/dialect.ts'
export { createPool } from '../src/shard/pool.ts'
