import type { Shard } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { openedTo } from './opened-connections.ts'

test.each([
  ['counts its connections', { connections: () => ({ opened: 7 }) }, 7],
  ['does not know the state of its connections', { connections: () => undefined }, undefined],
  ['has no pool', {}, undefined],
])('the connections of a driver that %s', (_, shard, opened) => {
  expect(openedTo(shard as unknown as Shard)).toBe(opened)
})
