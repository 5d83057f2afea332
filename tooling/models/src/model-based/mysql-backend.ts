import { mysqlShards } from '@looseleaf/driver-mysql'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import type { Backend } from './backend.ts'

/** Databases on the MariaDB or MySQL servers of the test run. */
export const mysqlBackend: Backend = {
  name: 'MariaDB',
  async create(shards) {
    const { urls, drop } = await freshShards(shards)
    return { shards: mysqlShards(urls, { poolSize: 4 }), drop }
  },
}
