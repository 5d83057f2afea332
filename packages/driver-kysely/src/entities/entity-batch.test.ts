import type { BatchRow } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { scriptedShard, type Step } from '../../test/scripted-shard.ts'

const [A, B, C, D] = [1, 2, 3, 4].map((byte) => Buffer.alloc(16, byte)) as [Buffer, Buffer, Buffer, Buffer]
const body = Buffer.from('text')
const epoch = 1

/** A batch that overwrites one entity, inserts two, and holds another. */
const rows: readonly BatchRow[] = [
  { id: B, base: 0, version: 2, body },
  { id: A, base: 1, version: 2, body },
  { id: C, base: 0, version: 2, body },
  { id: D, base: 1, version: undefined },
]

/** Writes the batch, which meets a row when it inserts. */
function writeAll(...steps: readonly Step[]): Promise<PromiseSettledResult<unknown>> {
  const shard = scriptedShard()
  return shard.act(
    [
      ['BEGIN'],
      ['SELECT', { rows: [{ id: D, version: 1 }] }],
      ['SELECT', { rows: [{ id: A, version: 1 }] }],
      ['SELECT', { rows: [{ micros: 5 }] }],
      ['INSERT', { fault: 'duplicate' }],
      ['ROLLBACK'],
      ...steps,
    ],
    () => shard.entities.writeAll(rows, { epoch }),
  )
}

test.each([
  ['the one that is there now', [{ id: C, version: 1 }], [2]],
  [
    'each that is there now',
    [
      { id: C, version: 1 },
      { id: B, version: 1 },
      { id: A, version: 1 },
    ],
    [0, 2],
  ],
  ['all of them if the other writer has been undone', [{ id: A, version: 1 }], [0, 2]],
] as const)('a refused batch names the insertions that met a row: %s', async (_, found, lost) => {
  expect(await writeAll(['SELECT', { rows: found }])).toEqual({ status: 'fulfilled', value: { lost } })
})

test('a batch that met a row rejects if the look for it has no answer', async () => {
  expect(await writeAll(['SELECT', { fault: 'SHARD_UNAVAILABLE' }])).toMatchObject({
    status: 'rejected',
    reason: { code: 'SHARD_UNAVAILABLE' },
  })
})
