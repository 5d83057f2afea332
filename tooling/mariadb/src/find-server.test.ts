import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { findInstallScript, findServer } from './find-server.ts'
import { startServers } from './start-servers.ts'

const MARIADB = 'Ver 11.8.9-MariaDB-log for Linux on x86_64'
const MYSQL = 'Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)'
let folder: string

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'looseleaf-find-mariadb-')))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

/** A script that prints its own path first, as servers do. */
async function program(path: string, script: string): Promise<string> {
  const whole = join(folder, path)
  await mkdir(dirname(whole), { recursive: true })
  await writeFile(whole, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return whole
}

const saying = (words: string): string => `echo "$0  ${words}"`

describe('findServer', () => {
  test('a named server is taken, regardless of PATH', async () => {
    await program('path/mariadbd', saying(MARIADB))
    vi.stubEnv('PATH', join(folder, 'path'))
    const named = await program('named/mysqld', saying(MYSQL))
    vi.stubEnv('LOOSELEAF_MYSQLD', named)
    expect(findServer()).toEqual({ path: named, flavor: 'mysql', version: `${named}  ${MYSQL}` })
  })

  test('MariaDB and MySQL are told apart by version, not by the name of program or folder', async () => {
    vi.stubEnv('LOOSELEAF_MYSQLD', await program('mysql/bin/mysqld', saying(MARIADB)))
    expect(findServer()?.flavor).toBe('mariadb')
    vi.stubEnv('LOOSELEAF_MYSQLD', await program('mariadb/bin/mariadbd', saying(MYSQL)))
    expect(findServer()?.flavor).toBe('mysql')
  })

  test('mariadbd on PATH is preferred to mysqld, and a program that does not run is skipped', async () => {
    vi.stubEnv('LOOSELEAF_MYSQLD', '')
    vi.stubEnv('PATH', `${join(folder, 'a')}:${join(folder, 'b')}`)
    await program('a/mysqld', saying(MYSQL))
    await program('a/mariadbd', 'exit 3')
    const good = await program('b/mariadbd', saying(MARIADB))
    expect(findServer()?.path).toBe(good)
  })

  test.each([
    ['is not there', undefined, /ENOENT/],
    ['fails', 'echo no library >&2; exit 127', /ended with 127\. no library/],
    ['is no server', 'echo hello', /says no version/],
  ])('never takes another for a named one that %s', async (_, script, why) => {
    await program('path/mariadbd', saying(MARIADB))
    vi.stubEnv('PATH', `${join(folder, 'path')}:${process.env['PATH']}`)
    const named = script === undefined ? join(folder, 'nothing') : await program('named/mysqld', script)
    vi.stubEnv('LOOSELEAF_MYSQLD', named)
    expect(findServer).toThrow(why)
    expect(findServer).toThrow(`LOOSELEAF_MYSQLD=${named}`)
    await expect(startServers(1)).rejects.toThrow(why)
  })
})

describe('findInstallScript', () => {
  test('the script of a named server is found beside it or in its bin folder, even through a link', async () => {
    const server = await program('opt/sbin/mariadbd', saying(MARIADB))
    const script = await program('opt/bin/mariadb-install-db', 'exit 0')
    await symlink(server, join(folder, 'link'))
    for (const path of [server, join(folder, 'link')]) {
      vi.stubEnv('LOOSELEAF_MYSQLD', path)
      expect(findInstallScript({ path, flavor: 'mariadb', version: MARIADB })).toBe(script)
    }
  })

  test('the script of another server is never used for a named one', async () => {
    await program('path/mariadb-install-db', 'exit 0')
    vi.stubEnv('PATH', join(folder, 'path'))
    const path = await program('opt/sbin/mariadbd', saying(MARIADB))
    vi.stubEnv('LOOSELEAF_MYSQLD', path)
    expect(findInstallScript({ path, flavor: 'mariadb', version: MARIADB })).toBeUndefined()
  })
})
