import type { Router } from '@looseleaf/core'
import { describe, expect, it } from 'vitest'
import { idOf, lastBytePlacement, lastByteRouter } from '../../test/model.ts'
import { placementOfRouter } from '../catalog/placement.ts'
import { defineIndex, type IndexDefinition } from '../definitions/define-index.ts'
import { toKeyValue } from './key-value.ts'
import { shardOfRow, shardsOfQuery } from './shard-of-row.ts'

/** A router that records its calls. */
function recordingRouter(): Router & { calls: string[] } {
  const calls: string[] = []
  const note = (kind: string) => (bytes: Uint8Array) =>
    calls.push(`${kind} ${Buffer.from(bytes).toString('hex')}`)
  return { ...lastByteRouter(4), calls, shardOfId: note('id'), shardOfKey: note('key') }
}

describe('the shard of a row', () => {
  it('a row stands on the shard of its entity if shardOn is id', () => {
    const index = defineIndex('a', { properties: { rank: 'integer' }, shardOn: 'id' })
    expect(shardOfRow(index, lastBytePlacement(4), [5n], idOf(3))).toBe(3)
  })

  it('a row stands on the shard of its uuid, like an entity with that id', () => {
    const index = defineIndex('a', { properties: { rank: 'integer', user: 'uuid' }, shardOn: 'user' })
    const router = recordingRouter()
    shardOfRow(index, placementOfRouter(router), [5n, idOf(2)], idOf(3))
    expect(router.calls).toEqual([`id ${'0'.repeat(31)}2`])
  })

  it.each<[string, string | number | bigint | boolean | Date, string]>([
    ['string', 'é', 'c3a9'],
    ['integer', -2, 'fffffffffffffffe'],
    ['number', 1.5, '3ff8000000000000'],
    ['boolean', true, '0000000000000001'],
    ['time', new Date(1), '00000000000003e8'],
  ])('the bytes that decide the shard of a %s never change', (type, value, bytes) => {
    const index = defineIndex('a', { properties: { p: type as 'string' }, shardOn: 'p' }) as IndexDefinition
    const result = toKeyValue(type as 'string', value)
    const router = recordingRouter()
    shardOfRow(index, placementOfRouter(router), 'value' in result ? [result.value] : [], idOf(3))
    expect(router.calls).toEqual([`key ${bytes}`])
  })

  it('a row of an array stands on the shard of its element', () => {
    const index = defineIndex('a', { properties: { users: 'uuid[]' }, shardOn: 'users' })
    const router = lastByteRouter(4)
    expect([1, 2].map((user) => shardOfRow(index, placementOfRouter(router), [idOf(user)], idOf(3)))).toEqual(
      [1, 2],
    )
  })
})

describe('the shards of a query', () => {
  const index = defineIndex('a', { properties: { user: 'uuid', rank: 'integer' }, shardOn: 'user' })

  it('a query with a value for shardOn goes to one shard', () => {
    expect(shardsOfQuery(index, lastBytePlacement(4), [idOf(2)])).toEqual([2])
    expect(shardsOfQuery(index, lastBytePlacement(4), [idOf(2), 1n])).toEqual([2])
  })

  it('a query without a value for shardOn goes to all shards', () => {
    expect(shardsOfQuery(index, lastBytePlacement(4), [])).toEqual([0, 1, 2, 3])
    const byId = defineIndex('b', { properties: { user: 'uuid' }, shardOn: 'id' })
    expect(shardsOfQuery(byId, lastBytePlacement(3), [idOf(2)])).toEqual([0, 1, 2])
  })
})
