import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { checkIndex, DataStore, mysqlShards } from 'looseleaf'
import { describe, expect, test } from 'vitest'
import { checkSide } from '../test/side-checks.ts'
import { openMariadb } from './servers/mariadb.ts'
import type { Server } from './servers/server.ts'
import { sides } from './sides/all-sides.ts'
import { handWritten } from './sides/mysql-side.ts'
import { openDataSet } from './workload/data-set.ts'
import { indexesOf } from './workload/indexes.ts'

/** Opens the suite's servers as given ones: the benchmark creates databases on them and drops them. */
async function open(): Promise<Server> {
  const { urls } = await freshShards(2)
  return openMariadb({ urls, shards: urls.length })
}

describe('on two MariaDB servers', () => {
  for (const side of sides) if (side.server === 'mariadb') checkSide(side, open)

  test('the hand-written side leaves tables that Looseleaf reads and finds consistent', async () => {
    const server = await open()
    for (const layout of ['entries', 'site', 'unique', 'near', 'nearList'] as const) {
      const databases = await server.createDatabases()
      await handWritten.create(databases, layout)
      const side = await handWritten.open(databases, layout)
      const data = openDataSet({ layout, entries: 40, users: 2, bag: undefined }, 0)
      await side.fill(Array.from({ length: 40 }, (_, number) => data.entry(number)))
      const [first, second] = [await side.insert(data.newEntry()), await side.insert(data.newEntry())]
      if (layout === 'entries') await side.put(...data.replacement(false))
      await side.delete(second)
      await side.close()

      const indexes = indexesOf(layout).map(({ definition }) => definition)
      const store = await DataStore.open({ shards: mysqlShards([...databases]), indexes })
      expect((await store.get(first.id))?.id).toBe(first.id)
      if (layout === 'near' || layout === 'nearList')
        for (const { id, user } of [first, data.entry(3)[0]])
          expect(id.slice(15, 18)).toBe(user.slice(15, 18))
      for (const { name } of indexes) {
        const problems: unknown[] = []
        await checkIndex(store, name, { onProblem: (problem) => void problems.push(problem) })
        expect(problems).toEqual([])
      }
      await store.close()
    }
    await server.close()
  })
})
