import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { projectFolder, runInside } from './run-command.ts'

const CONFIG = `
import { defineConfig } from '@looseleaf/cli'
import { defineIndex } from '@looseleaf/index-engine'

export default defineConfig({
  shards: 'sqlite:data?shards=2',
  indexes: [
    defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' }),
    defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' }),
  ],
})
`

const LINKS = ['a', 'b', 'c', 'd', 'e']

interface Indexes {
  readonly indexes: readonly { readonly table: string; readonly state: string }[]
}

test('init gives an index with a missing table a new generation, clean fills it, and schema prints its table before', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await runInside(['init'], { cwd })
  for (const link of LINKS) await runInside(['put', JSON.stringify({ link, rank: 1 })], { cwd })
  const tablesIn = async (): Promise<string[]> => {
    const { shards } = (await runInside(['schema', '--json'], { cwd })).json<{
      shards: { statements: string[] }[]
    }>()
    const names = shards[0]!.statements.flatMap(
      (sql) => /^CREATE TABLE IF NOT EXISTS "(index_\w+)"/.exec(sql)?.[1] ?? [],
    )
    return names.toSorted()
  }
  expect(await tablesIn()).toEqual(['index_by_link', 'index_by_rank'])

  const driver = await shardsFrom('sqlite:data?shards=2', { relativeTo: cwd }).connect()
  await driver.shards[1]!.dropIndexTable({ table: 'index_by_link', columns: [] })
  await driver.close()
  const lost = await runInside(['query', 'by_link', '--scatter', '--json'], { cwd })
  expect(lost.code).not.toBe(0)
  expect(lost.stderr).toContain('looseleaf init')
  expect(await tablesIn()).toEqual(['index_by_link_2', 'index_by_rank'])

  const init = await runInside(['init'], { cwd })
  expect(init.stdout).toContain('Fill by_link with: looseleaf clean')
  const { indexes } = (await runInside(['index', 'list', '--json'], { cwd })).json<Indexes>()
  expect(indexes.map(({ table, state }) => `${table} ${state}`).toSorted()).toEqual([
    'index_by_link_2 building',
    'index_by_rank ready',
  ])
  expect((await runInside(['clean'], { cwd })).code).toBe(0)
  const check = await runInside(['clean', '--check', '--json'], { cwd })
  expect(check.json()).toMatchObject({ ok: true })
  const found = await runInside(['query', 'by_link', '--scatter', '--json'], { cwd })
  expect(
    LINKS.filter(
      (link) =>
        found.stdout.includes(`"link":${JSON.stringify(link)}`) ||
        found.stdout.includes(`"link": ${JSON.stringify(link)}`),
    ),
  ).toEqual(LINKS)
})
