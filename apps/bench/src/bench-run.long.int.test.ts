import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, test } from 'vitest'
import { takesFiles } from './bulk/load-data.ts'
import type { Results } from './report/results.ts'

test('a run writes its results as JSON and as an HTML page', async () => {
  const { urls } = await freshShards(2)
  const out = await mkdtemp(join(tmpdir(), 'looseleaf-bench-test-'))
  const run = (...more: readonly string[]): Promise<unknown> =>
    promisify(execFile)(
      process.execPath,
      [
        '--conditions=@looseleaf/source',
        join(import.meta.dirname, 'main.ts'),
        '--tiny',
        '--mysql',
        urls.join(),
        '--out',
        out,
        ...more,
      ],
      // A dozen processes compile the same sources.
      { env: { ...process.env, NODE_COMPILE_CACHE: join(out, 'compiled') } },
    )
  try {
    await Promise.all([
      run(
        '--only',
        'calls,import,profile',
        '--scenarios',
        'insert,page',
        '--sides',
        'looseleaf,hand-written,limit,json',
      ),
      // This run measures nothing, so it writes no file that the other run could overwrite.
      expect(run('--only', 'sweep', '--sides', 'json')).rejects.toThrow('Nothing was measured'),
    ])
    await run('--only', 'network', '--scenarios', 'get', '--sides', 'json')
    const { parts, results } = JSON.parse(await readFile(join(out, 'latest.json'), 'utf8')) as Results
    // A second run keeps the parts of the first.
    expect(Object.keys(parts).toSorted()).toEqual(['calls', 'import', 'network', 'profile'])
    const measured = (part: string): string[] => [
      ...new Set(results.filter((row) => row.part === part).map(({ side }) => side)),
    ]
    expect(measured('calls')).toEqual(['looseleaf', 'hand-written', 'limit', 'json'])
    const loaders = (await takesFiles(urls[0] as string)) ? ['LOAD DATA'] : []
    expect(measured('import')).toEqual(['looseleaf', 'multi-row INSERT', 'json', ...loaders])
    const isLeftOut = parts.import?.leftOut.some((reason) => reason.startsWith('LOAD DATA'))
    expect(isLeftOut).toBe(loaders.length === 0)
    const profiles = results.filter(({ part }) => part === 'profile')
    expect(new Set(profiles.map(({ scenario }) => scenario))).toEqual(
      new Set(['insert', 'page', 'import', 'index build']),
    )
    for (const { scenario, side, callers, shares = {} } of profiles)
      expect(
        Object.values(shares).reduce((sum, share) => sum + share, 0),
        `${scenario} of ${side}, ${callers} callers`,
      ).toBeCloseTo(1)
    for (const row of results) {
      expect(row.opsPerSecond).toBeGreaterThan(0)
      expect(row.rounds).toHaveLength(1)
      expect(row.clientCpuUs).toBeGreaterThan(0)
    }
    const page = await readFile(join(out, 'latest.html'), 'utf8')
    expect(page.match(/<svg /g)?.length).toBeGreaterThan(5)
    expect(page).not.toMatch(/https?:\/\/|NaN|undefined/)
  } finally {
    await rm(out, { recursive: true, force: true })
  }
})
