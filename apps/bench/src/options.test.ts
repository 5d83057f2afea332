import { describe, expect, test, vi } from 'vitest'
import { parseOptions } from './options.ts'
import { partNames } from './parts/part-names.ts'
import { scales } from './scale.ts'

describe('parseOptions', () => {
  test('a run without options measures every part at full scale', () => {
    expect(parseOptions([])).toMatchObject({ scale: scales.full, parts: partNames, mysql: [] })
  })

  test('an option with several values is a list with commas', () => {
    expect(
      parseOptions(['--only', 'calls,rates', '--sides', 'limit', '--scenarios', 'get', '--callers', '8,256']),
    ).toMatchObject({
      parts: ['calls', 'rates'],
      sides: ['limit'],
      scenarios: ['get'],
      scale: { callers: [8, 256] },
    })
  })

  test('a given option wins over --quick', () => {
    const { scale } = parseOptions(['--quick', '--rounds', '9'])
    expect(scale).toEqual({ ...scales.quick, rounds: 9, otherRounds: 9 })
  })

  test('each given server is one shard', () => {
    const { mysql, scale } = parseOptions(['--mysql', 'mysql://a@h:1,mysql://a@h:2,mysql://a@h:3'])
    expect([mysql.length, scale.shards]).toEqual([3, 3])
  })

  test.each(['nope', '', 'mysql://a@h:1,', 'http://a@h:1'])('--mysql rejects %j', (text) => {
    // commander writes its message to the standard error output and ends the process.
    const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
      throw new Error(`exit ${code}`)
    })
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    try {
      expect(() => parseOptions(['--mysql', text])).toThrow('exit 1')
      expect(write.mock.calls.join()).toContain('Servers are given as mysql://')
    } finally {
      exit.mockRestore()
      write.mockRestore()
    }
  })
})
