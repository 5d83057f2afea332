import { beforeEach, expect, test } from 'vitest'
import type { Shard } from '../ports/driver.ts'
import type { IndexTableSpec } from '../ports/index-table.ts'
import { interceptShard, wrapShard } from './wrap-shard.ts'

/** Calls that reached the wrapped shard. */
let sent: string[]

/** A table of a driver that is written with classes: methods are inherited, and use `this`. */
class Table {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  async read(ids: readonly string[]): Promise<string> {
    sent.push(`${this.name} read ${ids.join()}`)
    return this.name
  }
}

class Child extends Table {
  async count(): Promise<number> {
    sent.push(`${this.name} count`)
    return 7
  }
}

class ClassShard {
  readonly name = 'shard 0'
  readonly entities = new Child('entities')
  readonly catalog = new Table('catalog')
  readonly tasks = new Table('tasks')
  readonly pending = new Table('pending')
  readonly codecEntries = new Table('codecEntries')
  get replicas(): readonly string[] {
    return ['replica']
  }
  index({ table }: IndexTableSpec): Table {
    return new Child(table)
  }
  claims({ table }: IndexTableSpec): Table {
    return new Table(table)
  }
  schema(): readonly string[] {
    return [this.name]
  }
  async now(): Promise<number> {
    sent.push(`${this.name} now`)
    return 1
  }
}

interface Tables {
  readonly entities: Child
  readonly tasks: Table
  index(spec: { readonly table: string }): Child
  claims(spec: { readonly table: string }): Table
  now(): Promise<number>
}

const shardOf = (): Shard => new ClassShard() as unknown as Shard
const asTables = (shard: Shard): Tables => shard as unknown as Tables

beforeEach(() => {
  sent = []
})

test('a wrapper forwards what it does not replace, inherited methods included', async () => {
  const wrapped = wrapShard(shardOf(), {
    entities: () => ({ count: async () => ({ entities: 9, tombstones: 0 }) as never }),
  })
  expect([wrapped.name, wrapped.replicas, wrapped.schema([])]).toEqual(['shard 0', ['replica'], ['shard 0']])
  expect('connections' in wrapped).toBe(false)
  const { entities, tasks } = asTables(wrapped)
  expect(await entities.count()).toEqual({ entities: 9, tombstones: 0 })
  expect(await entities.read(['a', 'b'])).toBe('entities')
  expect(await tasks.read(['c'])).toBe('tasks')
  expect(await wrapped.now()).toBe(1)
  expect(sent).toEqual(['entities read a,b', 'tasks read c', 'shard 0 now'])
})

test('a wrapper forwards to a table without a prototype, such as the exports of a module', async () => {
  const exported: object = Object.assign(Object.create(null), { read: async () => 'exported' })
  const shard = Object.assign(shardOf(), { tasks: exported })
  const wrapped = interceptShard(shard, async (_, run) => run())
  expect(await asTables(wrapped).tasks.read([])).toBe('exported')
})

test('a wrapper replaces methods of index tables, and keeps one object per table', async () => {
  const wrapped = asTables(
    wrapShard(shardOf(), { index: (_, { table }) => ({ count: async () => table.length }) }),
  )
  const one = wrapped.index({ table: 'ix_one' })
  expect(wrapped.index({ table: 'ix_one' })).toBe(one)
  expect(wrapped.index({ table: 'ix_two' })).not.toBe(one)
  expect([await one.count(), await one.read(['a'])]).toEqual([6, 'ix_one'])
  expect(sent).toEqual(['ix_one read a'])
})

test('a wrapper of wrappers forwards through both', async () => {
  const inner = wrapShard(shardOf(), { shard: () => ({ now: async () => 2 }) })
  const outer = wrapShard(inner, { shard: (shard) => ({ now: async () => (await shard.now()) + 1 }) })
  expect(await outer.now()).toBe(3)
  expect(await asTables(outer).entities.read(['a'])).toBe('entities')
})

test('every call that may send a statement is intercepted, and no other one', async () => {
  const seen: string[] = []
  const wrapped = interceptShard(shardOf(), async ({ table, operation, args }, run) => {
    seen.push(`${table} ${operation} ${args.length}`)
    if (operation === 'now') return 5
    return run()
  })
  const { entities, tasks, index, claims } = asTables(wrapped)
  expect(await entities.count()).toBe(7)
  await tasks.read(['a'])
  await index({ table: 'ix_one' }).count()
  await claims({ table: 'ix_claims' }).read([])
  expect(wrapped.schema([])).toEqual(['shard 0'])
  expect(await wrapped.now()).toBe(5)
  expect(seen).toEqual([
    'entities count 0',
    'tasks read 1',
    'ix_one count 0',
    'ix_claims read 1',
    'shard now 0',
  ])
  expect(sent).toEqual(['entities count', 'tasks read a', 'ix_one count', 'ix_claims read '])
})

test('the reads of a snapshot are intercepted like those of the shard', async () => {
  const seen: string[] = []
  const snapshot = {
    entities: new Child('entities'),
    index: ({ table }: IndexTableSpec) => new Child(table),
    close: async () => void sent.push('close'),
  }
  const shard = Object.assign(shardOf(), { snapshot: async () => snapshot })
  const wrapped = interceptShard(shard, async ({ table, operation }, run) => {
    seen.push(`${table} ${operation}`)
    return run()
  })
  const opened = await wrapped.snapshot!({ maxMs: 1 })
  await asTables(opened as never).entities.read(['a'])
  await asTables(opened as never)
    .index({ table: 'ix_one' })
    .count()
  await opened.close()
  expect(seen).toEqual(['shard snapshot', 'entities read', 'ix_one count'])
  expect(sent).toEqual(['entities read a', 'ix_one count', 'close'])
  expect('snapshot' in interceptShard(shardOf(), async (_, run) => run())).toBe(false)
})
