; random numbers begin where the last call ended

; == mul_add
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   access a2 b2 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = const 0.100000001 #3fb99999a0000000
;   %3 f32 = op Mul %1 %2
;   %4 f32 = op Add %0 %3
;   %5 f32 = store a2 %4
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = add i64 %6, 4095
  %14 = lshr i64 %13, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %91, %tail.end ]
  %15 = phi i64 [ %2, %work ], [ %90, %tail.end ]
  %16 = icmp slt i64 %task1, %3
  br i1 %16, label %task, label %task.end

task:                                             ; preds = %task.head
  %17 = mul i64 %15, 4096
  %18 = add i64 %17, 4096
  %19 = call i64 @llvm.smin.i64(i64 %18, i64 %6)
  %20 = sub i64 %19, %17
  %21 = and i64 %20, -32
  %22 = add i64 %17, %21
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %17, %task ], [ %73, %vector ]
  %23 = icmp slt i64 %vector2, %22
  br i1 %23, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %24 = mul i64 %vector2, 1
  %25 = getelementptr float, ptr %8, i64 %24
  %26 = load <8 x float>, ptr %25, align 4
  %27 = mul i64 %vector2, 1
  %28 = getelementptr float, ptr %8, i64 %27
  %29 = getelementptr float, ptr %28, i64 8
  %30 = load <8 x float>, ptr %29, align 4
  %31 = mul i64 %vector2, 1
  %32 = getelementptr float, ptr %8, i64 %31
  %33 = getelementptr float, ptr %32, i64 16
  %34 = load <8 x float>, ptr %33, align 4
  %35 = mul i64 %vector2, 1
  %36 = getelementptr float, ptr %8, i64 %35
  %37 = getelementptr float, ptr %36, i64 24
  %38 = load <8 x float>, ptr %37, align 4
  %39 = mul i64 %vector2, 1
  %40 = getelementptr float, ptr %10, i64 %39
  %41 = load <8 x float>, ptr %40, align 4
  %42 = mul i64 %vector2, 1
  %43 = getelementptr float, ptr %10, i64 %42
  %44 = getelementptr float, ptr %43, i64 8
  %45 = load <8 x float>, ptr %44, align 4
  %46 = mul i64 %vector2, 1
  %47 = getelementptr float, ptr %10, i64 %46
  %48 = getelementptr float, ptr %47, i64 16
  %49 = load <8 x float>, ptr %48, align 4
  %50 = mul i64 %vector2, 1
  %51 = getelementptr float, ptr %10, i64 %50
  %52 = getelementptr float, ptr %51, i64 24
  %53 = load <8 x float>, ptr %52, align 4
  %54 = fmul <8 x float> %41, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %55 = fmul <8 x float> %45, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %56 = fmul <8 x float> %49, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %57 = fmul <8 x float> %53, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %58 = fadd <8 x float> %26, %54
  %59 = fadd <8 x float> %30, %55
  %60 = fadd <8 x float> %34, %56
  %61 = fadd <8 x float> %38, %57
  %62 = mul i64 %vector2, 1
  %63 = getelementptr float, ptr %12, i64 %62
  store <8 x float> %58, ptr %63, align 4
  %64 = mul i64 %vector2, 1
  %65 = getelementptr float, ptr %12, i64 %64
  %66 = getelementptr float, ptr %65, i64 8
  store <8 x float> %59, ptr %66, align 4
  %67 = mul i64 %vector2, 1
  %68 = getelementptr float, ptr %12, i64 %67
  %69 = getelementptr float, ptr %68, i64 16
  store <8 x float> %60, ptr %69, align 4
  %70 = mul i64 %vector2, 1
  %71 = getelementptr float, ptr %12, i64 %70
  %72 = getelementptr float, ptr %71, i64 24
  store <8 x float> %61, ptr %72, align 4
  %73 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %22, %vector.end ], [ %89, %tail ]
  %74 = icmp slt i64 %tail3, %19
  br i1 %74, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %75 = sub i64 %19, %tail3
  %76 = call i64 @llvm.umin.i64(i64 %75, i64 8)
  %77 = trunc i64 %76 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %77, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %78 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %79 = mul i64 %tail3, 1
  %80 = getelementptr float, ptr %8, i64 %79
  %81 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %80, i32 4, <8 x i1> %78, <8 x float> zeroinitializer)
  %82 = mul i64 %tail3, 1
  %83 = getelementptr float, ptr %10, i64 %82
  %84 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %83, i32 4, <8 x i1> %78, <8 x float> zeroinitializer)
  %85 = fmul <8 x float> %84, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %86 = fadd <8 x float> %81, %85
  %87 = mul i64 %tail3, 1
  %88 = getelementptr float, ptr %12, i64 %87
  call void @llvm.masked.store.v8f32.p0(<8 x float> %86, ptr %88, i32 4, <8 x i1> %78)
  %89 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %90 = add i64 %15, 1
  %91 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
