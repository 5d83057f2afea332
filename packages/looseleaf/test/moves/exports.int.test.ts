import type { ShardCatalog } from '@looseleaf/core/internal'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { moveBuckets } from '@looseleaf/mover/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { through } from '@looseleaf-tooling/kit/changed-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, test } from 'vitest'
import { runInside } from '../../../cli/test/run-command.ts'
import { checkIndexes, checkQueries, contentsOf, fill, indexes, SOME_BUCKETS } from './stores.ts'

function open(urls: readonly string[], plan: FaultPlan = () => undefined): Promise<DataStore> {
  return DataStore.open({
    shards: through(mysqlShards(urls), (driver) => faultyDriver(driver, plan)),
    indexes,
    migrate: true,
    time: leapingTime(),
    onWarning: () => {},
  })
}

function timeOf(shard: number, operation: string, catalog: Partial<ShardCatalog>): string | undefined {
  if (shard === 1 && operation === 'receive') return 'while copying'
  if (operation !== 'change') return undefined
  const { leaving, away = [], arrived = [] } = catalog.serves ?? {}
  if (shard === 1) return arrived.length === 2 ? 'when the target has begun' : undefined
  if (leaving?.some(({ sealed }) => sealed !== undefined)) return 'under the seal'
  return away.length === 1 ? 'after the hand-over' : undefined
}

test('exports during a move have every entity once, and an import restores them exactly', async () => {
  const { urls } = await freshShards(2)
  const exports = new Map<string, string>()
  await using writer = await open(urls)
  await fill(writer, 60)
  const before = await contentsOf(writer)
  const take = async (time: string): Promise<void> => {
    if (exports.has(time)) return
    const { code, stdout } = await runInside(['export', '--shards', urls.join(',')])
    expect(code).toBe(0)
    exports.set(time, stdout)
  }
  await using mover = await open(urls, ({ shard, operation, args: [catalog] }) => {
    const time = timeOf(shard, operation, (operation === 'change' ? catalog : {}) as Partial<ShardCatalog>)
    return time === undefined ? undefined : { after: () => take(time) }
  })
  const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
  expect(await moveBuckets(mover, plan, { groups: 2 })).toMatchObject({ state: 'done' })
  expect([...exports.keys()]).toEqual([
    'while copying',
    'under the seal',
    'after the hand-over',
    'when the target has begun',
  ])

  const bags = (contents: ReadonlyMap<string, string>): [string, unknown][] =>
    Array.from(contents, ([id, text]) => [id, (JSON.parse(text) as [number, unknown])[1]])
  for (const lines of exports.values()) {
    expect(lines.trimEnd().split('\n')).toHaveLength(before.size)
    const { urls: empty, drop } = await freshShards(2)
    await using restored = await open(empty)
    const imported = await runInside(['import', '-', '--no-check', '--shards', empty.join(',')], {
      input: lines,
    })
    expect(imported).toMatchObject({ code: 0 })
    expect(bags(await contentsOf(restored)).toSorted()).toEqual(bags(before).toSorted())
    await checkQueries(restored)
    await checkIndexes(restored)
    await drop()
  }
}, 60_000)
