import type Database from 'better-sqlite3'
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, type Dialect, type Driver } from 'kysely'
import { createConnections, type Connection } from './connection.ts'

/** Kysely's own dialect takes one caller at a time; here a statement that waits for a lock holds up no reader. */
class SharedConnectionAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

export function sqliteDialect(database: Database.Database, deadlineMs: number): Dialect {
  return {
    createAdapter: () => new SharedConnectionAdapter(),
    createDriver: () => createKyselyDriver(database, deadlineMs),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

function createKyselyDriver(database: Database.Database, deadlineMs: number): Driver {
  const connections = createConnections({ database, deadlineMs })
  return {
    init: async () => {},
    acquireConnection: async () => connections.acquire(),
    releaseConnection: async () => {},
    // They come back as they were given.
    beginTransaction: (connection) => (connection as Connection).begin(),
    commitTransaction: (connection) => (connection as Connection).end('COMMIT'),
    rollbackTransaction: (connection) => (connection as Connection).end('ROLLBACK'),
    destroy: async () => {
      database.close()
    },
  }
}
