import {
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
} from 'kysely'
import type { Connection } from '../connection/connection.ts'
import type { CallPool } from '../shard/pool.ts'

/** Creates a dialect with Kysely's compiler for MySQL and the connections of this pool. */
export function mysqlDialect(pool: CallPool): Dialect {
  return {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => createKyselyDriver(pool),
    createIntrospector: (db) => new MysqlIntrospector(db),
    createQueryCompiler: () => new MysqlQueryCompiler(),
  }
}

function createKyselyDriver(pool: CallPool): Driver {
  // Kysely passes the connections that this driver has returned.
  const connectionOf = (connection: DatabaseConnection): Connection => connection as Connection

  return {
    init: async () => {},
    acquireConnection: (options) => pool.acquire(options?.signal),
    releaseConnection: async (connection) => pool.release(connectionOf(connection)),
    async beginTransaction(connection) {
      // After an error the transaction may have begun, so the connection must not return to the pool.
      await connectionOf(connection)
        .startTransaction()
        .catch((error: unknown) => {
          connectionOf(connection).destroy()
          throw error
        })
    },
    commitTransaction: (connection) => connectionOf(connection).commit(),
    // The server rolls back when a connection closes. Behind a pooler, a ROLLBACK could reach another client's transaction.
    rollbackTransaction: async (connection) => connectionOf(connection).destroy(),
    destroy: () => pool.close(),
  }
}
