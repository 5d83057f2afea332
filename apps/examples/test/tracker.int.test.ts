import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { mysqlShards } from 'looseleaf'
import { describeTracker } from './describe-tracker.ts'

describeTracker('MariaDB', async () => mysqlShards((await freshShards(2)).urls))
