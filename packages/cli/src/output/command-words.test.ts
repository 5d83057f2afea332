import { expect, test } from 'vitest'
import { inCommandWords } from './command-words.ts'

test.each([
  ['Finish that move first: call shards.repair.', 'Finish that move first: run looseleaf shard repair.'],
  ['Call shards.repair to copy everything again.', 'Run looseleaf shard repair to copy everything again.'],
  ['Finish it with shards.repair, then move.', 'Finish it with looseleaf shard repair, then move.'],
  ['shards.moves lists the others.', 'looseleaf shard status lists the others.'],
  ['Call shards.stopDraining first.', 'Run looseleaf shard stop-draining first.'],
  ['It has 2 buckets (call shards.drain(1)).', 'It has 2 buckets (run looseleaf shard drain 1).'],
  ['Go on by shards.rebalance().', 'Go on by looseleaf shard rebalance.'],
  ['Allow it with { scatter: true }.', 'Allow it with --scatter.'],
  ['The shards.moved of another program stay.', 'The shards.moved of another program stay.'],
])('the message %j names commands', (message, expected) => {
  expect(inCommandWords(message)).toBe(expected)
})
