import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Flavor } from '../database/flavor.ts'
import { claimStatements } from './claim-statements.ts'

const db = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (of) => new SqliteIntrospector(of),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** A database whose sessions are checked. */
const flavor = {
  greatest: 'MAX',
  integer: (value) => value,
  updateSource: (table) => table,
  ownSession: { only: (value) => sql`OWN(${value})`, parameters: [] },
} satisfies Partial<Flavor> as unknown as Flavor

const columns = [
  { name: 'a', type: 'string' },
  { name: 'b', type: 'uuid' },
] as const
const statements = claimStatements({ table: 'claims', columns }, flavor)

const conditionOf = (statement: ReturnType<typeof statements.read>): string =>
  statement.compile(db).sql.replaceAll(/\s+/g, ' ').split(' WHERE ')[1]!

test('a read of claims finds those of its keys alone, and only in its own session', () => {
  expect(conditionOf(statements.read(2))).toBe('(("a" = ? AND "b" = ?) OR ("a" = ? AND "b" = ?)) AND OWN(1)')
})

test('a claim is handed over by its key and its holder, and only in its own session', () => {
  expect(conditionOf(statements.handOver())).toBe('"a" = ? AND "b" = ? AND "entity_id" = ? AND OWN(1)')
})
