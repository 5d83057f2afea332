import {
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
} from 'kysely'
import type { Connection } from '../connection/connection.ts'
import type { Pool } from '../shard/pool.ts'

/** Kysely's compiler for MySQL over connections of our own, which have deadlines. */
export function mysqlDialect(pool: Pool): Dialect {
  return {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => createKyselyDriver(pool),
    createIntrospector: (db) => new MysqlIntrospector(db),
    createQueryCompiler: () => new MysqlQueryCompiler(),
  }
}

function createKyselyDriver(pool: Pool): Driver {
  // It gets back the connections that this driver has given to it.
  const ours = (connection: DatabaseConnection): Connection => connection as Connection

  return {
    init: async () => {},
    acquireConnection: (options) => pool.acquire(options?.signal),
    releaseConnection: async (connection) => pool.release(ours(connection)),
    async beginTransaction(connection) {
      // It would be given to others although its transaction may have begun.
      await ours(connection)
        .startTransaction()
        .catch((error: unknown) => {
          ours(connection).destroy()
          throw error
        })
    },
    commitTransaction: (connection) => ours(connection).commit(),
    // The server rolls back what a connection leaves behind. The statement would do it in whatever session it comes to.
    rollbackTransaction: async (connection) => ours(connection).destroy(),
    destroy: () => pool.close(),
  }
}
