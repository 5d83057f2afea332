import { memoryShards } from 'looseleaf'
import { describeTracker } from './describe-tracker.ts'

describeTracker('memory', async () => memoryShards(2))
