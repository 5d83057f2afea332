import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { describe } from 'vitest'
import { checkBackend } from '../test/backend-checks.ts'
import { openMysqlBackend } from './backends/mysql-backend.ts'

describe('two MariaDB servers', () => {
  checkBackend(async () => {
    // Only its servers are used: the backend makes databases of its own, and drops them.
    const { urls } = await freshShards(2)
    return openMysqlBackend({ urls, shards: urls.length, poolSize: 4 })
  })
})
