import { callSignal } from '@looseleaf/driver-kysely'
import {
  Kysely,
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
export function createKysely(pool: Pool): Kysely<unknown> {
  const dialect: Dialect = {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => createKyselyDriver(pool),
    createIntrospector: (db) => new MysqlIntrospector(db),
    createQueryCompiler: () => new MysqlQueryCompiler(),
  }
  return new Kysely({ dialect })
}

function createKyselyDriver(pool: Pool): Driver {
  // Kysely gives back the connections that this driver has given to it.
  const ours = (connection: DatabaseConnection): Connection => connection as Connection

  return {
    init: async () => {},
    acquireConnection: () => pool.acquire(callSignal()),
    releaseConnection: async (connection) => pool.release(ours(connection)),
    async beginTransaction(connection) {
      // Kysely would go on with a connection whose transaction has not begun.
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
