import { expect, test } from 'vitest'
import { cleanUp, freshBench } from '../../test/bench.ts'
import { createLimitedUser } from '@looseleaf-tooling/vitest/limited-user'

const bench = await freshBench()

test('a user without privileges but SELECT gets the warnings of the server', async () => {
  const limited = await createLimitedUser(bench.url, 'SELECT')
  cleanUp(() => limited.drop())
  const { shard } = await bench.connect({}, limited.url)
  const observer = await bench.observe()
  // Both users see the settings of the servers of this run.
  const all = await (await bench.connect()).shard.warnings()
  expect(await shard.warnings()).toEqual(all)
  const [rows] = await observer.query('SELECT @@GLOBAL.read_only AS readOnly')
  expect(rows).toEqual([{ readOnly: 0 }])
  expect(all.filter((warning) => /read_only|wsrep|group_replication/.test(warning))).toEqual([])
})
