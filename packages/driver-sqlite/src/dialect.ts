import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, type Dialect, type Driver } from 'kysely'
import { createConnections, type Connection, type ConnectionOptions, type Connections } from './connection.ts'

/** Lets callers share the connection. Kysely's own dialect allows one caller at a time, so a wait for a lock would block readers. */
class SharedConnectionAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/**
 * Creates the dialect of one database. A function opens it at the first statement. If it rejects, so does the statement, and the next one
 * tries again.
 */
export function sqliteDialect(options: ConnectionOptions | (() => Promise<ConnectionOptions>)): Dialect {
  return {
    createAdapter: () => new SharedConnectionAdapter(),
    createDriver: () => createKyselyDriver(options),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

function createKyselyDriver(options: ConnectionOptions | (() => Promise<ConnectionOptions>)): Driver {
  let opened = typeof options === 'function' ? undefined : createConnections(options)
  let opening: Promise<Connections> | undefined

  async function open(): Promise<Connections> {
    // A function is given if nothing is open.
    opened = createConnections(await (options as () => Promise<ConnectionOptions>)())
    return opened
  }

  return {
    init: async () => {},
    async acquireConnection() {
      if (opened !== undefined) return opened.acquire()
      opening ??= open().finally(() => (opening = undefined))
      return (await opening).acquire()
    },
    releaseConnection: async () => {},
    // Kysely passes the connections that `acquireConnection` has returned.
    beginTransaction: (connection) => (connection as Connection).begin(),
    commitTransaction: (connection) => (connection as Connection).end('COMMIT'),
    rollbackTransaction: (connection) => (connection as Connection).end('ROLLBACK'),
    destroy: async () => opened?.close(),
  }
}
