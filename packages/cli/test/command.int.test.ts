import { randomUUID } from 'node:crypto'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { projectFolder, runCommand, runInside } from './run-command.ts'

test('the command works on two MariaDB shards without a config', async () => {
  const { urls } = await freshShards(2)
  const cwd = projectFolder()
  const index = defineIndex('by_user', { properties: { user_id: 'uuid', n: 'integer' }, shardOn: 'user_id' })
  const store = await DataStore.open({ shards: mysqlShards(urls), indexes: [index], migrate: true })
  const env = { LOOSELEAF_SHARDS: urls.join(',') }
  const user = randomUUID()
  const lines = Array.from({ length: 1200 }, (_, n) => JSON.stringify({ id: randomUUID(), user_id: user, n }))

  const imported = await runCommand(['import', '-', '--json'], { cwd, env, input: lines.join('\n') })
  expect(imported.json()).toMatchObject({ created: 1200, refused: 0, ended: 'all' })
  const exported = await runCommand(['export'], { cwd, env })
  expect(exported.stdout.trim().split('\n').toSorted()).toEqual(lines.toSorted())

  const first = await runInside(
    ['query', 'by_user', `user_id=${user}`, 'n<10', '--order', 'desc', '--limit', '6', '--json'],
    { cwd, env },
  )
  const page = first.json<{ items: { properties: { n: number } }[]; cursor: string; previous: string }>()
  expect(page.items.map(({ properties }) => properties.n)).toEqual([9, 8, 7, 6, 5, 4])
  const second = await runInside(
    ['query', 'by_user', `user_id=${user}`, 'n<10', '--order', 'desc', '--cursor', page.cursor, '--json'],
    { cwd, env },
  )
  expect(second.json<typeof page>().items.map(({ properties }) => properties.n)).toEqual([3, 2, 1, 0])
  const { previous } = second.json<typeof page>()
  const back = await runInside(
    ['query', 'by_user', `user_id=${user}`, 'n<10', '--order', 'desc', '--limit', '4', '--cursor', previous],
    { cwd, env },
  )
  expect(back.stdout).toContain('Next page: --cursor ')
  expect(back.stdout).toContain('Previous page: --cursor ')
  const listed = await runInside(
    ['query', 'by_user', `user_id=${user}`, 'n=7', 'n=1100', 'n=3', 'n=5000', '--json'],
    { cwd, env },
  )
  expect(listed.json<typeof page>().items.map(({ properties }) => properties.n)).toEqual([3, 7, 1100])
  const count = await runInside(['count', 'by_user', `user_id=${user}`, 'n=7', 'n=1100', '--json'], {
    cwd,
    env,
  })
  expect(count.json()).toEqual({ count: 2 })

  expect((await runInside(['clean', '--check', '--json'], { cwd, env })).json()).toMatchObject({ ok: true })
  const schema = await runInside(['schema'], { cwd, env })
  expect(schema.stdout).toContain('CREATE TABLE IF NOT EXISTS `index_by_user`')
  const slow = await runInside(['slow'], { cwd, env })
  expect(slow).toMatchObject({ code: 0, stdout: '0 statements run for 1 s or longer on 2 servers.\n' })
  await store.close()
})

test('the error of a wrong password names the shard and not the password', async () => {
  const { urls } = await freshShards(1)
  const url = new URL(urls[0] as string)
  url.password = 'hunter2-is-wrong'
  for (const more of [[], ['--json'], ['--debug']]) {
    // A process prints its warnings too.
    const run = more[0] === '--debug' ? runCommand : runInside
    const refused = await run(['status', '--shards', url.href, ...more])
    expect(refused).toMatchObject({ code: 3, stdout: '' })
    expect(refused.stderr).toContain(`${url.host}${url.pathname}`)
    expect(refused.stderr).toContain(more[0] === '--json' ? 'SHARD_DENIED' : 'Error: ')
    expect(refused.stderr).not.toContain('hunter2')
  }
})
