import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, type Dialect, type Driver } from 'kysely'
import { createConnections, type Connection, type ConnectionOptions } from './connection.ts'

/** Lets callers share the connection. Kysely's own dialect allows one caller at a time, so a wait for a lock would block readers. */
class SharedConnectionAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

export function sqliteDialect(options: ConnectionOptions): Dialect {
  return {
    createAdapter: () => new SharedConnectionAdapter(),
    createDriver: () => createKyselyDriver(options),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

function createKyselyDriver(options: ConnectionOptions): Driver {
  const connections = createConnections(options)
  return {
    init: async () => {},
    acquireConnection: async () => connections.acquire(),
    releaseConnection: async () => {},
    // Kysely passes the connections that `acquireConnection` has returned.
    beginTransaction: (connection) => (connection as Connection).begin(),
    commitTransaction: (connection) => (connection as Connection).end('COMMIT'),
    rollbackTransaction: (connection) => (connection as Connection).end('ROLLBACK'),
    destroy: async () => {
      options.database.close()
    },
  }
}
