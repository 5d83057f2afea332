import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanIndex } from '@looseleaf/cleaner'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { projectFolder, runInside } from './run-command.ts'

async function project(): Promise<string> {
  const cwd = projectFolder()
  writeFileSync(
    join(cwd, 'looseleaf.config.ts'),
    `import { defineConfig } from '@looseleaf/cli'
import { defineIndex } from '@looseleaf/index-engine'
export default defineConfig({
  shards: 'sqlite:data?shards=2',
  indexes: [defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user' })],
})
`,
  )
  await runInside(['init'], { cwd })
  await runInside(['import', '-'], { cwd, input: '{"user":"ada"}\n{"user":"bo"}\n{"user":"cy"}\n' })
  return cwd
}

/** Writes a config whose shards count the reads of their oldest entities. */
function countedConfig(cwd: string): string {
  writeFileSync(
    join(cwd, 'counted.config.ts'),
    `import { defineConfig, shardsFrom } from '@looseleaf/cli'
const shards = shardsFrom('sqlite:data?shards=2', { relativeTo: ${JSON.stringify(cwd)} })
globalThis.pagesOfOldest = 0
const counted = (entities) => ({
  ...entities,
  pageByAdded: (...given) => {
    globalThis.pagesOfOldest++
    return entities.pageByAdded(...given)
  },
})
export default defineConfig({
  shards: {
    ...shards,
    async connect(options) {
      const driver = await shards.connect(options)
      return { ...driver, shards: driver.shards.map((shard) => ({ ...shard, entities: counted(shard.entities) })) }
    },
  },
})
`,
  )
  return 'counted.config.ts'
}

interface TopLook {
  readonly grade: string
  readonly shards: readonly {
    answersInMs: number | null
    error: { code: string } | null
    entities: number | null
  }[]
  readonly indexes: readonly { index: string; state: string }[]
  readonly findings: readonly { rule: string }[]
}

test('each look shows the round trips of the shards, the indexes, and the opinion', async () => {
  const cwd = await project()
  const { code, stdout } = await runInside(
    ['top', '--every', '1', '--looks', '2', '--json', '--config', countedConfig(cwd)],
    { cwd },
  )
  expect(code).toBe(0)
  // Two reads per shard: at open, and for the first sample of bodies. The second look uses the cached sample.
  expect(globalThis).toMatchObject({ pagesOfOldest: 4 })
  const looks = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as TopLook)
  expect(looks).toHaveLength(2)
  for (const { grade, shards, indexes, findings } of looks) {
    expect(grade).toBe('look')
    expect(findings.map(({ rule }) => rule)).toContain('no cleaner')
    expect(indexes).toMatchObject([{ index: 'by_user', state: 'ready' }])
    expect(shards.every(({ answersInMs, error }) => answersInMs! > 0 && error === null)).toBe(true)
    expect(shards.reduce((sum, { entities }) => sum + entities!, 0)).toBe(3)
  }
  const text = (await runInside(['top', '--looks', '1'], { cwd })).stdout
  expect(text).toMatch(/^Look: .*\n\nSHARD +ANSWERS IN/)
  expect(text).toContain('1 index is ready and idle.')
  expect(text).not.toContain('\u001B')
})

test('an index that is being cleaned does not count as idle', async () => {
  const cwd = await project()
  const store = await DataStore.open({ shards: shardsFrom('sqlite:data?shards=2', { relativeTo: cwd }) })
  onTestFinished(() => store.close())
  const text = async (): Promise<string> => (await runInside(['top', '--looks', '1'], { cwd })).stdout
  // Stopped after its first progress.
  const stop = new AbortController()
  const cut = cleanIndex(store, 'by_user', { signal: stop.signal, onProgress: () => stop.abort() })
  await expect(cut).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await text()).toMatch(/\n\nEvery index is being cleaned, or is not ready:\n\nINDEX .*\nby_user /)
  const other = { properties: { user: 'string' }, shardOn: 'id' } as const
  await store.addIndex(defineIndex('by_other', other))
  await cleanIndex(store, 'by_other')
  expect(await text()).toContain('1 index is ready and idle. Being cleaned, or not ready:\n\nINDEX')
})

test('the help of top is not wrapped a second time', async () => {
  const { stdout } = await runInside(['top', '--help'])
  expect(stdout).toContain('Each shard is shown with\nthe round trip')
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test('top shows a refusing shard and continues, and Ctrl-C ends it with 0', async () => {
  const cwd = await project()
  const driver = await shardsFrom('sqlite:data?shards=2', { relativeTo: cwd }).connect()
  await driver.shards[1]!.dropIndexTable({ table: 'looseleaf_tasks', columns: [] })
  await driver.close()
  const look = (await runInside(['top', '--looks', '1', '--json'], { cwd })).json<TopLook>()
  expect(look.grade).toBe('act')
  const stopped = await runInside(['top'], { cwd, stop: AbortSignal.timeout(1_500) })
  expect(stopped).toMatchObject({ code: 0, stderr: '' })
  expect(stopped.stdout).toMatch(/^Act: /)
})

test('top fails for a missing store', async () => {
  const { code, stderr } = await runInside(['top', '--looks', '1', '--shards', 'sqlite:nowhere'], {
    cwd: projectFolder(),
  })
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/^Error: /)
})
