import { describe, expect, test } from 'vitest'
import { checkFight } from './check-fight.ts'
import type { FightEnd, FightRecord, FightSight } from './fight-records.ts'

let numbers = 0

function write(
  id: string,
  key: string | null,
  [at, until]: readonly [number, number],
  end: Pick<FightEnd, 'outcome' | 'version' | 'holder'>,
): FightRecord[] {
  const number = ++numbers
  return [
    { kind: 'begin', number, id, key, at },
    { kind: 'end', number, at: until, ...end },
  ]
}

const put = (id: string, key: string | null, version: number, span: readonly [number, number]) =>
  write(id, key, span, { outcome: 'acknowledged', version })
const sight = (id: string, version: number, key: string | null, by: number, at: number): FightSight => ({
  id,
  version,
  key,
  by,
  start: at,
  end: at + 1,
})

describe('the checker of fights', () => {
  test('the checker accepts a fight in which a key moves between entities', () => {
    const first = put('a', 'x', 10, [0, 5])
    const by = numbers
    const { wrongs, counts } = checkFight(
      [...first, ...put('a', null, 20, [50, 60]), ...put('b', 'x', 5, [55, 70])],
      [sight('a', 10, 'x', by, 40), sight('b', 5, 'x', by + 2, 80), sight('b', 5, 'x', by + 2, 90)],
    )
    expect(wrongs).toEqual([])
    expect(counts).toMatchObject({ acknowledged: 3, holdings: 2, changes: 1 })
  })

  test('the checker reports two entities with one key, whether seen or answered', () => {
    const records = [...put('a', 'x', 10, [0, 5]), ...put('b', 'x', 5, [20, 30])]
    const by = numbers
    const wrong = ['a (version 10) and b (5) both had x']
    expect(checkFight(records, [sight('a', 10, 'x', by - 1, 50), sight('b', 5, 'x', by, 60)]).wrongs).toEqual(
      wrong,
    )
    // The first holder may have been replaced before the second one came.
    expect(checkFight(records, [sight('a', 10, 'x', by - 1, 25), sight('b', 5, 'x', by, 60)]).wrongs).toEqual(
      [],
    )
  })

  test('the checker reports a missing acknowledged write', () => {
    const older = put('a', null, 9, [0, 1])
    const by = numbers
    const { wrongs } = checkFight([...older, ...put('a', 'x', 10, [2, 5])], [sight('a', 9, null, by, 50)])
    expect(wrongs).toEqual(['a: version 10 was acknowledged, and version 9 was there after that'])
  })

  test('the checker reports a failed write that was seen', () => {
    const failed = write('a', 'x', [0, 5], { outcome: 'failed' })
    const { wrongs } = checkFight(failed, [sight('a', 9, 'x', numbers, 50)])
    expect(wrongs).toEqual([`a: version 9 is of write ${numbers}, which was failed`])
  })

  test('the checker reports a refusal that names a former holder, but not one that names a possible holder', () => {
    const refused = write('b', 'x', [30, 40], { outcome: 'refused', holder: 'a' })
    const has = put('a', 'x', 10, [0, 5])
    expect(checkFight([...has, ...refused], []).wrongs).toEqual([])
    expect(checkFight([...has, ...put('a', null, 20, [29, 31]), ...refused], []).wrongs).toEqual([])
    // A fence has raised its version; it still has the key.
    const fenced = sight('a', 15, 'x', numbers - 1, 20)
    expect(
      checkFight([...has, ...refused], [{ ...fenced, by: (has[0] as { number: number }).number }]).wrongs,
    ).toEqual([])
    const { wrongs } = checkFight([...has, ...put('a', null, 20, [10, 20]), ...refused], [])
    expect(wrongs).toEqual([expect.stringMatching(/was refused x, which a cannot have had/)])
  })
})
