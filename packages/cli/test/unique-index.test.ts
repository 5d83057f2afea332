import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder, runInside } from './run-command.ts'

const config = (unique: boolean): string => `
import { defineConfig } from '@looseleaf/cli'
import { defineIndex } from '@looseleaf/index-engine'

export default defineConfig({
  shards: 'sqlite:data?shards=2',
  indexes: [
    defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: ${unique} }),
  ],
})
`

test('an index is made unique in use: duplicates are listed, and it is ready when they are resolved', async () => {
  const cwd = projectFolder()
  // A process reads a file once.
  let file = 'plain.config.ts'
  const run = (...words: string[]): ReturnType<typeof runInside> =>
    runInside([...words, '--config', file], { cwd })
  const put = async (...words: string[]): Promise<string> =>
    (await run('put', ...words, '--json')).json<{ id: string }>().id
  writeFileSync(join(cwd, file), config(false))
  await run('init')
  const ids = [await put('{"mail":"ada"}'), await put('{"mail":"ada"}')]
  await put('{"mail":"eve"}')

  file = 'unique.config.ts'
  writeFileSync(join(cwd, file), config(true))
  expect((await run('index', 'add', 'by_mail')).code).toBe(0)
  const listed = await run('index', 'list')
  expect(listed.stdout).toMatch(/by_mail +1 +ready .*index_by_mail/)
  expect(listed.stdout).toMatch(/by_mail \(unique\) +1 +building .*claims_by_mail/)

  const cleaned = await run('clean', '--index', 'by_mail')
  expect(cleaned.stdout).toContain('looseleaf index violations by_mail')
  const found = await run('index', 'violations', 'by_mail', '--json')
  expect(found.code).toBe(1)
  const { violations } = found.json<{ violations: { entity: string; holder: string }[] }>()
  expect(violations).toHaveLength(1)
  const [{ entity, holder }] = violations as [{ entity: string; holder: string }]
  expect([entity, holder].toSorted()).toEqual(ids.toSorted())
  expect((await run('index', 'violations', 'by_mail')).stdout).toContain(entity)

  const refused = await run('put', '{"mail":"eve"}')
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('Index by_mail is unique')

  await put(`{"mail":"ada two"}`, '--id', entity)
  expect((await run('clean', '--index', 'by_mail')).code).toBe(0)
  const none = await run('index', 'violations', 'by_mail')
  expect([none.code, none.stdout]).toEqual([0, 'No entities share a key of by_mail.\n'])
  expect((await run('status')).stdout).toMatch(/by_mail \(unique\) +1 +ready/)
  expect((await run('clean', '--check')).code).toBe(0)
})
