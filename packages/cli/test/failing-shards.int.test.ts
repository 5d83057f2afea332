import { randomBytes } from 'node:crypto'
import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { createLimitedUser, sendStatement } from '@looseleaf-tooling/vitest/limited-user'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { DataStore, isLooseleafError } from '@looseleaf/store'
import { readFailures } from '@looseleaf/store/internal'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { projectFolder, runCommand } from './run-command.ts'

/** Largest size of all tables of a server. */
const MOST = '24M'

let servers: RunningServers
let urls: readonly [string, string]

beforeAll(async () => {
  servers = await startServers(2, {
    database: 'feed',
    serverArguments: [
      '--innodb-file-per-table=0',
      `--innodb-data-file-path=ibdata1:12M:autoextend:max:${MOST}`,
      '--innodb-autoextend-increment=1',
    ],
  })
  urls = [servers.urls[0]!, servers.urls[1]!]
  await openStore().then((store) => store.close())
})
afterAll(() => servers?.stop())

const openStore = (): Promise<DataStore> =>
  DataStore.open({ shards: mysqlShards(urls), migrate: true, onWarning: () => {} })

interface Checked {
  readonly ok: boolean
  readonly grade: string
  readonly findings: readonly { readonly rule: string; readonly about: string; readonly problem: string }[]
}

/** Runs `status --check act`. `first` is the URL of the first shard. */
async function check(first = urls[0]): Promise<{ readonly code: number | null; readonly checked: Checked }> {
  const env = { LOOSELEAF_SHARDS: [first, urls[1]].join() }
  const { code, json } = await runCommand(['status', '--check', 'act', '--json'], {
    cwd: projectFolder(),
    env,
  })
  return { code, checked: json<Checked>() }
}

async function limitedUser(privileges: string): Promise<string> {
  const user = await createLimitedUser(urls[0], privileges)
  onTestFinished(() => user.drop())
  return user.url
}

test('a shard that takes all writes is well', async () => {
  expect(await check()).toMatchObject({ code: 0, checked: { ok: true, grade: 'well' } })
})

test('status --check finds a read-only server and names the setting', async () => {
  const site = await limitedUser('SELECT, INSERT, UPDATE, DELETE')
  await sendStatement(urls[0], 'SET GLOBAL read_only = ON')
  try {
    const { code, checked } = await check(site)
    expect(code).toBe(1)
    expect(checked.findings).toMatchObject([
      { rule: 'writes', problem: expect.stringMatching(/read-only .*set read_only to OFF/) as string },
    ])
  } finally {
    await sendStatement(urls[0], 'SET GLOBAL read_only = OFF')
  }
})

test('status --check finds a user without the right to write and names the right', async () => {
  const site = await limitedUser('SELECT, INSERT, DELETE')
  const { code, checked } = await check(site)
  expect(code).toBe(1)
  expect(checked.findings).toMatchObject([
    { rule: 'writes', problem: expect.stringMatching(/SHARD_DENIED: .*UPDATE/) as string },
  ])
})

test('status --check of another process finds writes that fail on a full disk, with their shard and share', async () => {
  const store = await openStore()
  onTestFinished(() => store.close())
  const put = (): Promise<unknown> =>
    store
      .put({ text: randomBytes(150_000).toString('base64') }, { id: idOn(store, 0) })
      .catch((error: unknown) => error)
  let failed: unknown
  for (let i = 0; i < 500 && !isLooseleafError(failed); i++) failed = await put()
  expect(failed).toMatchObject({
    code: 'SHARD_FULL',
    retryable: true,
    message: expect.stringMatching(/full; nothing was written\. Make room/) as string,
  })
  await Promise.all(Array.from({ length: 5 }, put))
  // The process writes its note ten seconds after its first failure.
  while ((await readFailures(store.context)).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 200))

  const { code, checked } = await check()
  expect(code).toBe(1)
  expect(checked).toMatchObject({ ok: false, grade: 'act' })
  const found = checked.findings.find(({ rule }) => rule === 'failing calls')
  expect(found?.about).toBe(`shard ${new URL(urls[0]).host}/feed`)
  expect(found?.problem).toMatch(/ calls \(\d+ %\) failed with SHARD_FULL in \d+ s.*, in 1 process/)
  const shown = await runCommand(['status'], { cwd: projectFolder(), env: { LOOSELEAF_SHARDS: urls.join() } })
  expect(shown.stdout).toMatch(/^Act: /)
  expect(shown.stdout).not.toContain('work as promised')
  expect(shown.stdout).toMatch(/SHARD_FULL +\d+ of \d+/)
  expect(shown.stdout).toMatch(/SIZE +GROWTH/)
})
