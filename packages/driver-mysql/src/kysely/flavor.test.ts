import { DummyDriver, Kysely, MysqlAdapter, MysqlIntrospector, MysqlQueryCompiler, sql } from 'kysely'
import { expect, test } from 'vitest'
import { mysqlFlavor } from './flavor.ts'

const db = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (of) => new MysqlIntrospector(of),
    createQueryCompiler: () => new MysqlQueryCompiler(),
  },
})

// MySQL cuts what is longer than it was told where it is not strict; MariaDB does not, and pays for a longer type.
test.each([true, false])('a swap says that bodies may be long only where one is: %s', (isLong) => {
  const parts = { table: 'entities', count: 2, isLong, fence: sql<boolean>`TRUE` }
  const statement = mysqlFlavor.swap(parts).compile(db).sql
  expect(statement.match(/CAST\(\? AS BINARY\)/g)).toHaveLength(2)
  expect(statement.match(/BINARY\(16777215\)/g) ?? []).toHaveLength(isLong ? 2 : 0)
})
