import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { mysqlShards } from 'looseleaf'
import { describeConsumedKinds } from './consumed-kinds-scenario.ts'

describeConsumedKinds('two MariaDB shards', async () => mysqlShards((await freshShards(2)).urls))
