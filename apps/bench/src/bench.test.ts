import { describe, expect, test } from 'vitest'
import { checkSide } from '../test/side-checks.ts'
import { findPostgres, openPostgres } from './servers/postgres.ts'
import { openSqlite } from './servers/sqlite.ts'
import { sides } from './sides/all-sides.ts'
import { pongo } from './sides/pongo-side.ts'
import { entryId, userId } from './workload/ids.ts'

describe('on two SQLite files', () => {
  for (const side of sides) if (side.server === 'sqlite') checkSide(side, () => openSqlite(2))
})

describe.runIf(findPostgres() !== undefined)('on a PostgreSQL server', () => {
  for (const side of sides) if (side.server === 'postgres') checkSide(side, openPostgres)

  test('a dropped database ends an idle connection and leaves the process running', async () => {
    const server = await openPostgres()
    const databases = await server.createDatabases()
    await pongo.create(databases, 'entries')
    const side = await pongo.open(databases, 'entries')
    const ref = { id: entryId(0), user: userId(0) }
    expect(await side.get(ref)).toBeUndefined()
    await server.dropDatabases(databases)
    await expect(side.get(ref)).rejects.toThrow()
    await side.close()
    await server.close()
  })
})
