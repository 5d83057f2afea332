import { expect, test } from 'vitest'
import { effectsOf, missed, type ConsumerHistory } from './judge-changes.ts'

function history(
  ...processes: { versions: [at: number, version: number][]; wasPaused?: boolean }[]
): ConsumerHistory {
  return {
    consumer: 'one',
    processes: processes.map(({ versions, wasPaused = false }) => ({
      wasPaused,
      records: versions.map(([at, version]) => ({ kind: 'handled', id: 'a', version, at, afterMs: 1 })),
    })),
  }
}

test('ordered versions, some of them repeated, are right', () => {
  const effects = effectsOf(
    history(
      {
        versions: [
          [1, 1],
          [3, 3],
        ],
      },
      {
        versions: [
          [2, 1],
          [4, 4],
        ],
      },
    ),
  )
  expect(effects).toMatchObject({ handled: 4, again: 1, late: 0, wrongs: [] })
  expect(missed(effects, new Map([['a', 4]]))).toEqual([])
})

test('an older version after a newer one is wrong, unless the process was paused', () => {
  expect(effectsOf(history({ versions: [[1, 2]] }, { versions: [[2, 1]] })).wrongs).toEqual([
    'one: a at version 1 was handled after 2',
  ])
  expect(effectsOf(history({ versions: [[1, 2]] }, { versions: [[2, 1]], wasPaused: true }))).toMatchObject({
    late: 1,
    wrongs: [],
    versions: new Map([['a', 2]]),
  })
})

test('an entity whose last state was not handled counts as missed', () => {
  const effects = effectsOf(history({ versions: [[1, 1]] }))
  expect(
    missed(
      effects,
      new Map([
        ['a', 2],
        ['b', 1],
      ]),
    ),
  ).toEqual(['a', 'b'])
})

test('an error that a process reports counts as wrong', () => {
  const process = { records: [{ kind: 'wrong', message: 'it ended' } as const], wasPaused: false }
  expect(effectsOf({ consumer: 'one', processes: [process] }).wrongs).toEqual(['one: it ended'])
})
