import { callSignal } from '@looseleaf/driver-kysely'
import {
  CompiledQuery,
  Kysely,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
} from 'kysely'
import type { Connection } from './connection.ts'
import type { Pool } from './pool.ts'

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
  const say = async (connection: DatabaseConnection, statement: string): Promise<void> => {
    await connection.executeQuery(CompiledQuery.raw(statement))
  }

  return {
    init: async () => {},
    acquireConnection: () => pool.acquire(callSignal()),
    releaseConnection: async (connection) => pool.release(ours(connection)),
    beginTransaction: (connection) => say(connection, 'START TRANSACTION'),
    commitTransaction: (connection) => say(connection, 'COMMIT'),
    async rollbackTransaction(connection) {
      // A connection that cannot say so itself is thrown away, and the server rolls back for it.
      await say(connection, 'ROLLBACK').catch(() => ours(connection).destroy())
    },
    destroy: () => pool.close(),
  }
}
