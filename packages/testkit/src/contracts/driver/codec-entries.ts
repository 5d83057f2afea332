import { expect } from 'expect'
import { hex, withBench, type ContractParts } from './harness.ts'

export function codecEntryContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)
  const shape = { id: '00ff00ff00ff', kind: 'shape', bytes: Uint8Array.of(0, 1, 255) }
  const long = { id: '0123456789ab', kind: 'dictionary', bytes: new Uint8Array(70_000).fill(7) }

  test('a new shard has no shapes or dictionaries', async () => {
    expect(await bench.shard.codecEntries.read([])).toEqual([])
    expect(await bench.shard.codecEntries.read(['ffffffffffff'])).toEqual([])
  })

  test('an added entry has its bytes and a time, and does not change when it is added again', async () => {
    const { codecEntries } = bench.shard
    await codecEntries.add([])
    await codecEntries.add([shape, long])
    await codecEntries.add([{ ...shape, kind: 'other', bytes: Uint8Array.of(9) }])
    const stored = await codecEntries.read([long.id, 'ffffffffffff', shape.id])
    expect(new Map(stored.map(({ id, kind, bytes }) => [id, [kind, hex(bytes)]]))).toEqual(
      new Map([shape, long].map(({ id, kind, bytes }) => [id, [kind, hex(bytes)]])),
    )
    const now = await bench.shard.now()
    for (const { added } of stored) expect(Math.abs(now - added)).toBeLessThan(600_000_000)
    expect((await codecEntries.all()).map(({ id }) => id)).toEqual(
      expect.arrayContaining([shape.id, long.id]),
    )
  })

  test('an entry that several calls add at the same time exists once', async () => {
    const { codecEntries } = bench.shard
    const entry = { id: 'abcabcabcabc', kind: 'shape', bytes: Uint8Array.of(1) }
    await Promise.all(Array.from({ length: 5 }, () => codecEntries.add([entry])))
    expect((await codecEntries.all()).filter(({ id }) => id === entry.id)).toHaveLength(1)
  })
}
