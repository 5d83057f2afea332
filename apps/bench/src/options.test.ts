import { describe, expect, test, vi } from 'vitest'
import { parseOptions } from './options.ts'

describe('parseOptions', () => {
  test('measures everything everywhere by default', () => {
    expect(parseOptions([])).toMatchObject({
      on: ['sqlite', 'mysql'],
      onGiven: false,
      only: ['put', 'update', 'get', 'getMany', 'query'],
      callers: [64, 1],
      mysql: [],
    })
  })

  test('takes lists', () => {
    expect(parseOptions(['--on', 'mysql', '--only', 'get,put', '--callers', '8,256'])).toMatchObject({
      on: ['mysql'],
      onGiven: true,
      only: ['get', 'put'],
      callers: [8, 256],
    })
  })

  test('lets a given option win over --quick', () => {
    const normal = parseOptions([])
    const quick = parseOptions(['--quick', '--rounds', '9'])
    expect(quick.rounds).toBe(9)
    expect(quick.entries).toBeLessThan(normal.entries)
  })

  test.each(['nope', '', 'mysql://a@h:1,', 'http://a@h:1'])('refuses %j for servers', (text) => {
    // commander ends the process; what it would have said goes to the standard error output.
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

  test('takes given servers for a wish to measure on them', () => {
    expect(parseOptions(['--mysql', 'mysql://a@h:1,mysql://a@h:2'])).toMatchObject({
      mysql: ['mysql://a@h:1', 'mysql://a@h:2'],
      onGiven: true,
    })
  })
})
