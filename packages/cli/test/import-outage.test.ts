import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder, runInside } from './run-command.ts'

const COUNT = 900

/** Returns a config whose second shard rejects inserts after the number of statements in the file `answered`. */
const configIn = (cwd: string): string => `
import { readFileSync } from 'node:fs'
import { LooseleafError } from '@looseleaf/core'
import { sqliteShards } from '@looseleaf/driver-sqlite'

const sqlite = sqliteShards({ folder: '${join(cwd, 'data')}', shards: 2 })
const shards = {
  ...sqlite,
  async connect(options) {
    const driver = await sqlite.connect(options)
    const [first, second] = driver.shards
    let calls = 0
    const entities = {
      ...second.entities,
      async insert(...args) {
        if (++calls > Number(readFileSync('${join(cwd, 'answered')}', 'utf8')))
          throw new LooseleafError('SHARD_UNAVAILABLE', 'It is gone.', { shard: second.name })
        return second.entities.insert(...args)
      },
    }
    return { ...driver, shards: [first, { ...second, entities }] }
  },
}
export default { shards }
`

async function numbersIn(cwd: string): Promise<number[]> {
  const { stdout } = await runInside(['export'], { cwd })
  const numbers = stdout
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { n: number }).n]))
  return numbers.toSorted((a, b) => a - b)
}

test.each([[[]], [['--ids-from', "Ada's file"]]])(
  'an import without ids continues after an outage with the printed lines, and stores nothing twice %j',
  async (options) => {
    const cwd = projectFolder()
    writeFileSync(join(cwd, 'looseleaf.config.ts'), configIn(cwd))
    await runInside(['init'], { cwd })
    const input = Array.from({ length: COUNT }, (_, i) => `{"n":${i + 1}}`).join('\n')
    writeFileSync(join(cwd, 'answered'), '1')
    const failed = await runInside(['import', '-', ...options], { cwd, input })
    expect(failed.code).toBe(3)
    const [, line] = /^Error: Line (\d+): It is gone\.\n$/m.exec(failed.stderr)!
    const stored = await numbersIn(cwd)
    expect(failed.stdout).toContain(`${stored.length} entities imported`)
    expect(failed.stdout).toContain(`Stopped at line ${line}. All lines before it are in the store.`)
    expect(stored.some((number) => number > Number(line))).toBe(true)

    const [, advice] = /^Continue with (.+)$/m.exec(failed.stdout)!
    expect(advice).toMatch(
      options.length === 0 ? /^--lines [-\d,]+$/ : new RegExp(`^--from-line ${line} --ids-from '`),
    )
    const words = execFileSync('sh', ['-c', `printf '%s\\n' ${advice}`], { encoding: 'utf8' }).trimEnd()
    writeFileSync(join(cwd, 'answered'), '0')
    const again = await runInside(['import', '-', ...words.split('\n'), '--json'], { cwd, input })
    // The shard fails again. The lines printed now include everything that remains.
    expect(again.code).toBe(3)
    const { remainingLines, created } = again.json<{ remainingLines: string; created: number }>()
    expect(await numbersIn(cwd)).toHaveLength(stored.length + created)
    writeFileSync(join(cwd, 'answered'), 'Infinity')
    const last = await runInside(['import', '-', '--lines', remainingLines, ...options, '--json'], {
      cwd,
      input,
    })
    expect(last).toMatchObject({ code: 0 })
    expect(last.json()).toMatchObject({ ended: 'all', remainingLines: null })
    expect(await numbersIn(cwd)).toEqual(Array.from({ length: COUNT }, (_, i) => i + 1))
  },
)

test.each([
  [['--lines', '3,2'], 'line numbers and ranges'],
  [['--lines', '3', '--from-line', '2'], 'cannot be used with'],
  [['--ids-from', ''], 'Give a name'],
])('%j is refused', async (options, words) => {
  const cwd = projectFolder()
  const { code, stderr } = await runInside(['import', '-', '--shards', 'memory:1', ...options], { cwd })
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
})
