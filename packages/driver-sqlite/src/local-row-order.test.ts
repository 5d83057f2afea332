import type { SentStatement } from '@looseleaf/core'
import type { IndexTableSpec } from '@looseleaf/core/internal'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { memoryShards } from './memory-shards.ts'

const columns = [{ name: 'name', type: 'string' }] as const
const specs = ['index_a', 'index_b', 'index_c'].map((table): IndexTableSpec => ({ table, columns }))
const id = Uint8Array.from({ length: 16 }, (_, i) => i)

test.each(['first', 'last'])(
  'a transaction locks the tables of its local rows in the order of their names, with index_a given %s',
  async (place) => {
    const told: SentStatement[] = []
    const sent = (statement: SentStatement): void => void told.push(statement)
    const driver = await memoryShards(1).connect({ statements: { isListening: true, sent } })
    const shard = driver.shards[0]!
    await initShard(shard)
    for (const spec of specs) await shard.createIndexTable(spec)
    told.length = 0
    const rows = [{ key: [Buffer.from('ada')], entityId: id, version: 1 }]
    const upsert = (place === 'first' ? specs : specs.toReversed()).map((spec) => ({ spec, rows }))
    await shard.entities.insert([{ id, version: 1, body: Buffer.from('{}'), local: { upsert } }], {
      epoch: 1,
    })
    const tables = told.flatMap(({ text }) =>
      Array.from(text.matchAll(/INSERT INTO "(index_.)"/gi), ([, table]) => table),
    )
    expect(tables).toEqual(['index_a', 'index_b', 'index_c'])
    await driver.close()
  },
)
