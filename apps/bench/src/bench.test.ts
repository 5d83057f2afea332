import { describe } from 'vitest'
import { checkSide } from '../test/side-checks.ts'
import { findPostgres, openPostgres } from './servers/postgres.ts'
import { openSqlite } from './servers/sqlite.ts'
import { sides } from './sides/all-sides.ts'

describe('on two SQLite files', () => {
  for (const side of sides) if (side.server === 'sqlite') checkSide(side, () => openSqlite(2))
})

describe.runIf(findPostgres() !== undefined)('on a PostgreSQL server', () => {
  for (const side of sides) if (side.server === 'postgres') checkSide(side, openPostgres)
})
