import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanIndex } from '@looseleaf/cleaner'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { shardsFrom } from '../src/shards-from.ts'
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

/** Another config of it, whose shards count how often their oldest entities are read. */
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

test('each look has how the shards answer, the indexes, and the opinion', async () => {
  const cwd = await project()
  const { code, stdout } = await runInside(
    ['top', '--every', '1', '--looks', '2', '--json', '--config', countedConfig(cwd)],
    { cwd },
  )
  expect(code).toBe(0)
  // Of each shard at the opening and for the first look at bodies, which serves the second as well.
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
  expect(text).toContain('1 index is ready, and nothing is done to it.')
  expect(text).not.toContain('\u001B')
})

test('an index that is worked on is not among those to which nothing is done', async () => {
  const cwd = await project()
  const store = await DataStore.open({ shards: shardsFrom('sqlite:data?shards=2', { relativeTo: cwd }) })
  onTestFinished(() => store.close())
  const text = async (): Promise<string> => (await runInside(['top', '--looks', '1'], { cwd })).stdout
  // Cut off as soon as it has begun.
  const stop = new AbortController()
  const cut = cleanIndex(store, 'by_user', { signal: stop.signal, onProgress: () => stop.abort() })
  await expect(cut).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await text()).toMatch(/\n\nEvery index is worked on, or not ready:\n\nINDEX .*\nby_user /)
  const other = { properties: { user: 'string' }, shardOn: 'id' } as const
  await store.addIndex(defineIndex('by_other', other))
  await cleanIndex(store, 'by_other')
  expect(await text()).toContain(
    '1 index is ready, and nothing is done to it; worked on, or not ready, are:\n\nINDEX',
  )
})

test('its help is not wrapped a second time', async () => {
  const { stdout } = await runInside(['top', '--help'])
  expect(stdout).toContain('Each shard is shown with\nhow long it takes')
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test('a shard that refuses is on it, and does not end it; Ctrl-C does, with 0', async () => {
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

test('a store that is not there is an error', async () => {
  const { code, stderr } = await runInside(['top', '--looks', '1', '--shards', 'sqlite:nowhere'], {
    cwd: projectFolder(),
  })
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/^Error: /)
})
