import { LooseleafError, parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  addRow,
  byTag,
  byUser,
  entryOf,
  expectedRows,
  openStore,
  removeRow,
  rowFor,
  rowsIn,
  tableOf,
} from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import type { TargetRow } from '../look/dangling-among.ts'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import type { Problem } from '../pass/pass-options.ts'
import { createRepairPass, type RepairPass } from '../repair/repair-pass.ts'
import { sweepEntityPage } from './sweep-entities.ts'
import { gatherRows, sweepIndexRows } from './sweep-index.ts'

const ada = { user_id: 'ada', published: 1, tags: ['x', 'y'] }

let store: DataStore
let pass: RepairPass
let problems: Problem[]
let targets: IndexTarget[]
/** Operations that are sent, with their number of ids or rows. */
let sent: string[]
let before: (operation: string) => unknown

beforeEach(async () => {
  sent = []
  problems = []
  before = () => undefined
  const driver = faultyDriver(await memoryShards(2).connect(), ({ operation, args }) => ({
    async before() {
      const counted = operation === 'rowsOf' ? args[1] : args[0]
      sent.push(Array.isArray(counted) ? `${operation} ${counted.length}` : operation)
      await before(operation)
    },
  }))
  store = await openStore({ driver, time: leapingTime() })
  pass = createRepairPass(store.context, { onProblem: (problem) => problems.push(problem) })
  targets = [byUser, byTag].map(({ name }) => indexTarget(store.context, entryOf(store, name)))
})

/** Returns how often an operation was sent. */
const count = (operation: string): number => sent.filter((call) => call.split(' ')[0] === operation).length

const settle = (): Promise<void> => pass.removals.settle(undefined)

describe('gathered rows', () => {
  it('gathered rows are many at 16 pages, and are taken once', () => {
    const rows = gatherRows({ ...pass, maxPage: 2 })
    const row = { key: [], entityId: Buffer.alloc(16), version: 1 }
    rows.add(
      targets[0]!,
      Array.from({ length: 31 }, () => row),
    )
    expect(rows.areMany).toBe(false)
    rows.add(targets[1]!, [row])
    expect(rows.areMany).toBe(true)
    const taken = rows.take()
    expect(taken).toHaveLength(32)
    expect([taken[0]!.target, taken[31]!.target]).toEqual(targets)
    expect(rows.areMany).toBe(false)
    expect(rows.take()).toEqual([])
  })

  it('gathered rows are compared with a hundred entities at once, each read once', async () => {
    const rows: TargetRow[] = []
    for (let i = 0; i < 201; i++) {
      const id = store.newId()
      for (const tag of ['x', 'y'])
        rows.push({ target: targets[1]!, row: rowFor(store, 'by_tag', id, { tags: [tag] }, 1).row })
    }
    sent.length = 0
    await sweepIndexRows({ ...pass, leaves: () => true }, 0, rows)
    const reads = sent.filter((call) => call.startsWith('readBounded'))
    // Each entity is read before and after its rows are deleted.
    expect(reads.reduce((sum, call) => sum + Number(call.split(' ')[1]), 0)).toBe(2 * 201)
    // Three groups need five reads on the two shards.
    expect(reads).toHaveLength(2 * 5)
    expect(pass.tally).toMatchObject({ rows: 402, entities: 0 })
  })

  it('misplaced rows are counted and moved, and other entities are not read', async () => {
    const { id, version } = await store.put(ada)
    const right = rowFor(store, 'by_user', id, ada, version)
    await removeRow(store, 'by_user', right)
    await addRow(store, 'by_user', { shard: 1 - right.shard, row: right.row })
    await sweepIndexRows(pass, 1 - right.shard, [{ target: targets[0]!, row: right.row }])
    await settle()
    expect(pass.tally).toMatchObject({ misplaced: 1, added: 1, removed: 1, rows: 1, entities: 0 })
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  })

  it('a misplaced row stays if it cannot be added on its right shard', async () => {
    const { id, version } = await store.put(ada)
    const right = rowFor(store, 'by_user', id, ada, version)
    await removeRow(store, 'by_user', right)
    await addRow(store, 'by_user', { shard: 1 - right.shard, row: right.row })
    before = async (operation) => {
      if (operation === 'upsert') throw new LooseleafError('SHARD_UNAVAILABLE', 'Down, on purpose.')
    }
    const rows = [{ target: targets[0]!, row: right.row }]
    await expect(sweepIndexRows(pass, 1 - right.shard, rows)).rejects.toThrow('on purpose')
    await settle()
    expect(await rowsIn(store, 'by_user')).toHaveLength(1)
  })

  it('correct rows stay as they are', async () => {
    const { id, version } = await store.put(ada)
    const { shard, row } = rowFor(store, 'by_user', id, ada, version)
    sent.length = 0
    await sweepIndexRows(pass, shard, [{ target: targets[0]!, row }])
    expect(new Set(sent.map((each) => each.split(' ')[0]))).toEqual(new Set(['readBounded', 'floor']))
    expect(pass.removals.isEmpty).toBe(true)
  })

  it('rows of a filling are compared by version, and matching ones need no body', async () => {
    const { id, version } = await store.put(ada)
    const { shard, row } = rowFor(store, 'by_user', id, ada, version)
    sent.length = 0
    await sweepIndexRows(pass, shard, [{ target: targets[0]!, row }], () => true)
    expect(sent).toEqual(['readVersions 1', 'floor'])
    expect(pass.tally).toMatchObject({ rows: 1, entities: 0 })
    expect(pass.removals.isEmpty).toBe(true)
  })

  it('rows of a filling with another version or shard are compared with the body', async () => {
    const { id } = await store.put({ ...ada, user_id: 'eve' })
    const { version } = await store.put(ada, { id })
    const right = rowFor(store, 'by_user', id, ada, version)
    const lost = rowFor(store, 'by_user', id, { ...ada, published: 2 }, version - 1)
    const gone = rowFor(store, 'by_user', store.newId(), ada, 1)
    await removeRow(store, 'by_user', right)
    await addRow(store, 'by_user', { shard: 1 - right.shard, row: right.row })
    for (const each of [lost, gone]) await addRow(store, 'by_user', each)
    const target = targets[0]!
    await sweepIndexRows(pass, 1 - right.shard, [{ target, row: right.row }], () => true)
    for (const { shard, row } of [lost, gone])
      await sweepIndexRows(pass, shard, [{ target, row }], () => true)
    await settle()
    expect(pass.tally).toMatchObject({ misplaced: 1, added: 1, rows: 3 })
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  })

  it('dangling rows are deleted without a second look at their entities', async () => {
    const { id, version } = await store.put(ada)
    const dangling = rowFor(store, 'by_user', id, { ...ada, user_id: 'eve' }, version)
    await addRow(store, 'by_user', dangling)
    sent.length = 0
    await sweepIndexRows(pass, dangling.shard, [{ target: targets[0]!, row: dangling.row }])
    expect(count('readBounded')).toBe(1)
    expect(count('rowsOf')).toBe(0)
    await settle()
    expect(pass.tally).toMatchObject({ misplaced: 0, removed: 1 })
  })

  it('rows of an entity with a damaged body stay, and the problem is not reported again', async () => {
    const { id, version } = await store.put(ada)
    const decode = (): never => {
      throw new LooseleafError('BODY_DAMAGED', 'Damaged.')
    }
    const context = { ...store.context, bodies: { ...store.context.bodies, decode } }
    const dangling = rowFor(store, 'by_user', id, { ...ada, user_id: 'eve' }, version)
    await addRow(store, 'by_user', dangling)
    await sweepIndexRows({ ...pass, context }, dangling.shard, [{ target: targets[0]!, row: dangling.row }])
    await settle()
    expect(await rowsIn(store, 'by_user')).toHaveLength(2)
    expect(problems).toEqual([])
    expect(pass.tally).toMatchObject({ rows: 1, undecodable: 0 })
  })
})

describe('a page of entities', () => {
  /** Reads the page of a shard with this entity. */
  async function pageOf(id: string) {
    const shard = store.context.driver.shards[store.context.router.shardOfId(parseId(id))]!
    const page = (await shard.entities.read([parseId(id)])).filter((row) => row !== undefined)
    sent.length = 0
    return page
  }

  it('a page without missing rows is only looked up', async () => {
    const { id } = await store.put(ada)
    await sweepEntityPage(pass, targets, await pageOf(id))
    expect(new Set(sent.map((each) => each.split(' ')[0]))).toEqual(new Set(['rowsOf']))
    expect(pass.tally).toMatchObject({ entities: 1, added: 0 })
  })

  it('tombstones of a page are neither counted nor written, but checked to be durable', async () => {
    const { id } = await store.put(ada)
    await store.delete(id)
    await store.settled()
    await sweepEntityPage(pass, targets, await pageOf(id), () => true)
    expect(sent.map((each) => each.split(' ')[0])).toEqual(['flush', 'readVersions'])
    expect(pass.tally).toMatchObject({ entities: 0, added: 0 })
  })

  it('a page is written without a look-up for filled indexes, and looked up for the others', async () => {
    const { id } = await store.put(ada)
    const [user, tag] = targets
    await sweepEntityPage(pass, targets, await pageOf(id), (target) => target === tag)
    expect(pass.tally).toMatchObject({ entities: 1, added: 2 })
    expect([count('rowsOf'), count('flush')]).toEqual([1, 1])
    await sweepEntityPage(pass, [tag!], await pageOf(id), () => true)
    expect(count('rowsOf')).toBe(0)
    await sweepEntityPage(pass, [user!], await pageOf(id))
    expect([count('upsert'), count('flush')]).toEqual([0, 0])
  })

  it('an entity that is written before the flush gets at most four more looks, and correct rows', async () => {
    const { id } = await store.put({ tags: ['0'] })
    const page = await pageOf(id)
    const tags = ['0']
    let isMine = false
    before = async (operation) => {
      if (operation !== 'flush' || isMine) return
      isMine = true
      tags.push(`${tags.length}`)
      await store.put({ tags: [...tags] }, { id })
      isMine = false
    }
    const filled = targets.slice(1)
    await sweepEntityPage(pass, filled, page, () => true)
    expect(tags).toHaveLength(1 + 5)
    expect(await rowsIn(store, 'by_tag')).toEqual(await expectedRows(store, 'by_tag'))
    expect(pass.tally).toMatchObject({ entities: 1, removed: 0 })
  })

  it('every row of an entity that was written before the flush is written before the next flush', async () => {
    const { id } = await store.put({ tags: ['0'] })
    const page = await pageOf(id)
    const placed = rowFor(store, 'by_tag', id, { tags: ['1'] }, 1)
    let moved = 0
    before = async (operation) => {
      if (operation === 'upsert' && moved > 0) {
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
        sent.push('written')
      }
      if (operation !== 'flush' || moved > 0) return
      const { version } = await store.put({ tags: ['1'] }, { id })
      await store.settled()
      // The row exists with an old stamp, like one that its writer is about to delete.
      await removeRow(store, 'by_tag', placed)
      await addRow(store, 'by_tag', placed)
      moved = version
    }
    await sweepEntityPage(pass, targets.slice(1), page, () => true)
    const rows = await tableOf(store, 'by_tag', placed.shard).scan({ prefix: [], order: 'asc', limit: 9 })
    expect(rows).toMatchObject([{ version: moved }])
    expect(sent.indexOf('written')).toBeLessThan(sent.lastIndexOf('flush'))
  })

  it('a row that an entity lost before it was written here is deleted again', async () => {
    const { id } = await store.put({ tags: ['0'] })
    const page = await pageOf(id)
    let moves = 0
    before = async (operation) => {
      const isNext = moves === 0 ? operation === 'flush' : moves === 1 && operation === 'upsert'
      if (!isNext) return
      moves++
      const now = moves
      // Writes of this function must not trigger it again.
      moves = 9
      await store.put({ tags: [`${now}`] }, { id })
      await store.settled()
      moves = now
    }
    await sweepEntityPage(pass, targets.slice(1), page, () => true)
    expect(moves).toBe(2)
    expect(pass.removals.isEmpty).toBe(false)
    await settle()
    expect(await rowsIn(store, 'by_tag')).toEqual(await expectedRows(store, 'by_tag'))
  })

  it('an entity that is written while its row is added is repaired in both directions', async () => {
    const { id } = await store.put({ tags: ['0'] })
    await removeRow(store, 'by_tag', rowFor(store, 'by_tag', id, { tags: ['0'] }, 0))
    const page = await pageOf(id)
    let isFirst = true
    before = async (operation) => {
      if (operation !== 'upsert' || !isFirst) return
      isFirst = false
      await store.put({ tags: ['1'] }, { id })
      await store.settled()
    }
    await sweepEntityPage(pass, targets, page)
    expect(pass.tally).toMatchObject({ entities: 1, added: 1 })
    await settle()
    expect(pass.tally).toMatchObject({ removed: 1 })
    expect(await rowsIn(store, 'by_tag')).toEqual(await expectedRows(store, 'by_tag'))
  })
})
