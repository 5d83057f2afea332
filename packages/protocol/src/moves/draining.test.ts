import type { LayoutShard, StoreLayout } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { requireDrainable } from './draining.ts'

const drain = (number: number, ...states: readonly LayoutShard['state'][]): void =>
  requireDrainable(
    { revision: 1, shards: states.map((state) => ({ name: '', state })) } as StoreLayout,
    number,
  )

test.each([
  [0, [undefined, undefined]],
  [1, ['draining', undefined, undefined]],
  [0, ['draining', undefined]],
] as const)('shard %i can be drained among shards in the states %j', (number, states) => {
  expect(() => drain(number, ...states)).not.toThrow()
})

test.each([
  [0, [undefined, 'draining'], 'Shard 0 cannot be drained: no other shard takes buckets. Add a shard first.'],
  [1, ['draining', undefined], 'Shard 1 cannot be drained: no other shard takes buckets. Add a shard first.'],
  [1, [undefined, 'joining', undefined], 'Shard 1 has no buckets: its state is joining.'],
  [0, ['removed', undefined], 'Shard 0 has no buckets: its state is removed.'],
] as const)('shard %i cannot be drained among shards in the states %j', (number, states, message) => {
  expect(() => drain(number, ...states)).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message }))
})
