import { createGate } from '@looseleaf/core/internal'
import { DummyDriver, Kysely, MysqlAdapter, MysqlIntrospector, MysqlQueryCompiler, sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Flavor } from './flavor.ts'
import { createSession, type Session } from './session.ts'

function newSession(): Session {
  const db = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new MysqlAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (of) => new MysqlIntrospector(of),
      createQueryCompiler: () => new MysqlQueryCompiler(),
    },
  })
  // The tests send nothing.
  return createSession({
    name: 's',
    db,
    driver: new DummyDriver(),
    flavor: {} as Flavor,
    gate: createGate('closed'),
  })
}

test('a statement in use stays compiled while thousands of others are used once', () => {
  const session = newSession()
  const built: string[] = []
  const shape = (key: string): string =>
    session.shape(key, () => {
      built.push(key)
      return sql`SELECT ${sql.lit(key)}`
    }).sql
  for (let i = 0; i < 3_000; i++) {
    expect(shape('in use')).toBe("SELECT 'in use'")
    shape(`other ${i}`)
  }
  expect(built.filter((key) => key === 'in use')).toHaveLength(1)
})

test('a session keeps at most a thousand compiled statements', () => {
  const session = newSession()
  let built = 0
  const ask = (i: number): unknown => session.shape(`${i}`, () => (built++, sql`SELECT ${sql.lit(i)}`))
  for (let i = 0; i < 1_500; i++) ask(i)
  for (let i = 0; i < 500; i++) ask(i)
  expect(built).toBe(2_000)
})
